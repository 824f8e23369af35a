package fleet

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"

	"go.etcd.io/bbolt"
)

// Lines reads a database as if it were a fleet file: every document on a line, in the
// order of keys. So what goes through fleet files one document after the other goes
// through databases as well.
type Lines struct {
	database *database
	tx       *bbolt.Tx
	cursor   *bbolt.Cursor
	// rest is what is left of a line; next says that there is another.
	rest []byte
	next bool
	text []byte
}

// OpenLines opens the database at path.
func OpenLines(path string) (*Lines, error) {
	d, err := openDatabase(path)
	if err != nil {
		return nil, err
	}
	l := &Lines{database: d, tx: <-d.transactions}
	_, err = l.Seek(0, io.SeekStart)
	return l, err
}

// Read reads the lines.
func (l *Lines) Read(p []byte) (n int, err error) {
	defer damaged(&err, debug.SetPanicOnFault(true))
	for len(l.rest) == 0 {
		if !l.next {
			return 0, io.EOF
		}
		l.rest = append(append(l.rest[:0:0], l.text...), '\n')
		l.step(l.cursor.Next())
	}
	n = copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *Lines) step(key, text []byte) { l.text, l.next = text, key != nil }

// Seek goes to the start or to the end, and nowhere between.
func (l *Lines) Seek(offset int64, whence int) (to int64, err error) {
	defer damaged(&err, debug.SetPanicOnFault(true))
	l.rest = nil
	switch {
	case offset == 0 && whence == io.SeekStart:
		l.cursor = l.tx.Bucket(documentsBucket).Cursor()
		l.step(l.cursor.First())
		return 0, nil
	case offset == 0 && whence == io.SeekEnd:
		l.next = false
		return l.database.bytes, nil
	}
	return 0, errors.New("a database is read from its start")
}

// ReadAt is for files: of a database it is not known where a line begins, and an Index
// reads by key.
func (l *Lines) ReadAt([]byte, int64) (int, error) {
	return 0, errors.New("a database cannot be read at any place")
}

// Stat is the file as it was opened.
func (l *Lines) Stat() (fs.FileInfo, error) { return l.database.file, nil }

// Close closes the database.
func (l *Lines) Close() error {
	l.database.transactions <- l.tx
	return l.database.close()
}

// Replace writes a copy of the database with another document of a tenant to path, a
// new file. It is no good before Replace is done.
func (l *Lines) Replace(path, tenant, document string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = l.tx.WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTime})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		documents, about := tx.Bucket(documentsBucket), tx.Bucket(fleetBucket)
		key := []byte(TenantKey(tenant))
		all := l.database.bytes + int64(len(document)-len(documents.Get(key)))
		if err := documents.Put(key, []byte(document)); err != nil {
			return err
		}
		if err := about.Put(bytesKey, strconv.AppendInt(nil, all, 10)); err != nil {
			return err
		}
		return about.Put(versionKey, []byte(newVersion()))
	})
	return errors.Join(err, db.Close())
}
