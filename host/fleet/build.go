package fleet

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// batch is how many documents are written at once.
const batch = 20_000

// roughSuffix is behind the name of what Build works in.
const roughSuffix = ".rough"

// Discard removes a file that Build was writing when it was killed. One that somebody has
// locked is being written and stays.
func Discard(path string) {
	files := []string{path + roughSuffix, path}
	if slices.ContainsFunc(files, locked) {
		return
	}
	for _, file := range files {
		_ = os.Remove(file) // it is in nobody's way
	}
}

// locked says whether somebody writes a database.
func locked(path string) bool {
	open := func() (err error) {
		// One that is half written can stop the library anywhere behind the lock.
		defer damaged(&err, debug.SetPanicOnFault(true))
		db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: time.Nanosecond}) // it tries once
		if err != nil {
			return err
		}
		return db.Close()
	}
	return errors.Is(open(), bolterrors.ErrTimeout)
}

// Build writes the documents of a fleet file, and more of devices, as a database. path
// is a new file, and no good before Build is done: it is for the caller to write it
// beside its place. Documents are not judged, but each has to be there once, and every
// tenant.
func Build(path, name string, r io.Reader, more []string) error {
	// In the order of the file first, which is not that of keys. What is read later is
	// a copy with the pages in order and as full as they can be.
	rough := path + roughSuffix
	defer os.Remove(rough)
	b := builder{name: name, tenants: map[string]bool{}}
	if err := b.open(rough); err != nil {
		return err
	}
	err := b.fill(r, more)
	if err == nil {
		err = compact(path, b.db)
	}
	return errors.Join(err, b.db.Close())
}

type builder struct {
	name    string
	db      *bbolt.DB
	pending []Document
	// tenants are those that devices have, and whether they are there.
	tenants map[string]bool
	devices int
	bytes   int64
	err     error
}

func (b *builder) open(path string) error {
	var err error
	// Nothing has to survive but the copy.
	b.db, err = bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	return b.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{documentsBucket, ownersBucket, fleetBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *builder) fill(r io.Reader, more []string) error {
	take := func(d Document) {
		if b.pending = append(b.pending, d); len(b.pending) == batch && b.err == nil {
			b.err = b.flush()
		}
	}
	fail := func(err *Error) {
		if b.err == nil {
			b.err = err
		}
	}
	if err := Scan(b.name, r, take, fail); err != nil {
		return err
	}
	for _, text := range more {
		d, wrong := identify(text)
		if len(wrong) > 0 {
			return errors.New(wrong[0])
		}
		take(d)
	}
	if b.err == nil {
		b.err = b.flush()
	}
	if b.err != nil {
		return b.err
	}
	for tenant, there := range b.tenants {
		if !there {
			return fmt.Errorf("%s: %s", TenantKey(tenant), NoTenant)
		}
	}
	return b.db.Update(func(tx *bbolt.Tx) error { return b.about(tx.Bucket(fleetBucket)) })
}

// about writes what is known of the whole.
func (b *builder) about(bucket *bbolt.Bucket) error {
	for _, pair := range []struct {
		key   []byte
		value string
	}{
		{formatKey, format}, {tenantsKey, strconv.Itoa(len(b.tenants))}, {devicesKey, strconv.Itoa(b.devices)},
		{bytesKey, strconv.FormatInt(b.bytes, 10)}, {versionKey, newVersion()},
	} {
		if err := bucket.Put(pair.key, []byte(pair.value)); err != nil {
			return err
		}
	}
	return nil
}

// newVersion is a word that no other database has.
func newVersion() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// flush writes what is pending, in the order of keys, for which a tree has the least
// to do.
func (b *builder) flush() error {
	type entry struct {
		Document
		key []byte
	}
	entries := make([]entry, len(b.pending))
	for i, d := range b.pending {
		entries[i] = entry{d, []byte(d.Key())}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(bytes.Compare(a.key, b.key), a.Line-b.Line) })
	b.pending = b.pending[:0]
	return b.db.Update(func(tx *bbolt.Tx) error {
		documents, owners := tx.Bucket(documentsBucket), tx.Bucket(ownersBucket)
		for _, d := range entries {
			if d.MAC == "" {
				if b.tenants[d.Tenant] {
					return fmt.Errorf("%s is there twice", d.key)
				}
				b.tenants[d.Tenant] = true
			} else {
				b.devices++
				b.tenants[d.Tenant] = b.tenants[d.Tenant]
				mac := owner(d.MAC)
				// Also in another tenant: one phone cannot be provisioned by two.
				if owners.Get(mac) != nil {
					return fmt.Errorf("device %s is there twice", d.MAC)
				}
				if err := owners.Put(mac, []byte(d.Tenant)); err != nil {
					return err
				}
			}
			b.bytes += int64(len(d.Text)) + 1
			if err := documents.Put(d.key, []byte(d.Text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// compact copies a database to a new file that survives.
func compact(path string, from *bbolt.DB) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	err = bbolt.Compact(db, from, 16<<20)
	if err == nil {
		err = db.Sync()
	}
	return errors.Join(err, db.Close())
}
