package fleet

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

// A database holds a fleet that is too large for memory. It is made by Build, as a
// whole, and never changed in its place: a newer one is another file, and who has
// this one open goes on reading it.
//
//	documents  the key that the core asks for -> the document
//	owners     a MAC in six bytes -> the tenant that it is of
//	fleet      what is known of the whole: see the keys below
type database struct {
	db *bbolt.DB
	// transactions are those that are not in use. All are begun at the start: when
	// somebody writes into the file after all, beginning one would fail with a lock of
	// the library held.
	transactions chan *bbolt.Tx
	// file is the file as it was opened.
	file             fs.FileInfo
	tenants, devices int
	// bytes is the length of all documents as lines.
	bytes   int64
	version string
}

var (
	documentsBucket = []byte("documents")
	ownersBucket    = []byte("owners")
	fleetBucket     = []byte("fleet")

	formatKey  = []byte("format")
	tenantsKey = []byte("tenants")
	devicesKey = []byte("devices")
	bytesKey   = []byte("bytes")
	versionKey = []byte("version")
)

// format is that of the buckets. A database of another is refused.
const format = "1"

// readers is how many documents can be read at a time.
const readers = 32

// lockTime is how long a database may be locked by who writes it; nobody writes one
// that is in its place.
const lockTime = time.Second

// IsDatabase says whether a file is a database, by its first bytes: the page that a
// database of bbolt begins with. It leaves the file at its start.
func IsDatabase(f *os.File) bool {
	// What was read of a pipe cannot be put back.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var head [20]byte
	_, err := io.ReadFull(f, head[:])
	if _, back := f.Seek(0, io.SeekStart); err != nil || back != nil {
		return false
	}
	// Behind the header of the page, in the order of bytes of the machine.
	return binary.NativeEndian.Uint32(head[16:]) == 0xED0CDAED
}

// openDatabase opens a database to read it.
func openDatabase(path string) (d *database, err error) {
	// What is damaged can stop the library anywhere.
	defer damaged(&err, debug.SetPanicOnFault(true))
	d = &database{}
	if d.file, err = os.Stat(path); err != nil {
		return nil, err
	}
	d.db, err = bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: lockTime, NoStatistics: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := d.db.View(d.read); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), d.db.Close())
	}
	d.transactions = make(chan *bbolt.Tx, readers)
	for range readers {
		tx, err := d.db.Begin(false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		d.transactions <- tx
	}
	return d, nil
}

// view calls f with a transaction.
func (d *database) view(f func(tx *bbolt.Tx) error) (err error) {
	tx := <-d.transactions
	defer func() { d.transactions <- tx }()
	defer damaged(&err, debug.SetPanicOnFault(true))
	return f(tx)
}

// close waits for those who read.
func (d *database) close() error {
	var errs []error
	for range readers {
		tx := <-d.transactions
		errs = append(errs, tx.Rollback())
	}
	return errors.Join(append(errs, d.db.Close())...)
}

func (d *database) read(tx *bbolt.Tx) error {
	// It is mapped into memory, and what is not there ends the program.
	if tx.Size() > d.file.Size() {
		return errors.New("the file is shorter than the database in it")
	}
	about := tx.Bucket(fleetBucket)
	if about == nil || tx.Bucket(documentsBucket) == nil || tx.Bucket(ownersBucket) == nil {
		return errors.New("is not the database of a fleet")
	}
	if string(about.Get(formatKey)) != format {
		return errors.New("is a database of another version: import it again")
	}
	numbers := [3]int64{}
	for i, key := range [][]byte{tenantsKey, devicesKey, bytesKey} {
		var err error
		if numbers[i], err = strconv.ParseInt(string(about.Get(key)), 10, 64); err != nil {
			return errors.New("is not the database of a fleet")
		}
	}
	d.tenants, d.devices, d.bytes = int(numbers[0]), int(numbers[1]), numbers[2]
	d.version = string(about.Get(versionKey))
	return nil
}

var errDamaged = errors.New("the database is damaged")

// damaged makes an error of a panic in the library, and of a page that is not where
// another one says. quiet is what debug.SetPanicOnFault was before.
func damaged(err *error, quiet bool) {
	debug.SetPanicOnFault(quiet)
	if p := recover(); p != nil {
		*err = errDamaged
	}
}

// get returns the value under a key of a bucket.
func (d *database) get(bucket, key []byte) (value string, found bool, err error) {
	err = d.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(bucket).Get(key); v != nil {
			value, found = string(v), true // a copy: v is the file's
		}
		return nil
	})
	return value, found, err
}

// each calls f with every document, in the order of keys. The text is only good
// during the call.
func (d *database) each(f func(key, text []byte) error) error {
	return d.view(func(tx *bbolt.Tx) error { return tx.Bucket(documentsBucket).ForEach(f) })
}

// owner is the key of a MAC in the bucket of owners, or nil when it is none.
func owner(mac string) []byte {
	key, err := hex.DecodeString(mac)
	if err != nil {
		return nil
	}
	return key
}
