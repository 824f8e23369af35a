// Package fleet reads the documents of a fleet from a file of JSON Lines, from an export
// of Workers KV, or from a database that was made of either, and serves them to the core.
//
// It owns the file: which line is a tenant and which a device, under what key the
// core finds it, and that each is there once. It must never change a document
// (the core gets the line as it stands) and never put a value of one into an
// error: a fleet file is full of passwords.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"stagger/edge/profile"
	"stagger/host/seal"
)

// MaxLine is the longest line in bytes: the largest document that the core takes.
const MaxLine = profile.MaxDocument

// maxErrors is how many errors are kept. A file that is wrong in more places is
// wrong as a whole.
const maxErrors = 1000

// A Check judges the documents of a tenant (device is "" then), or those of a
// device together with its tenant's. What it returns must not hold a value of
// either: it is printed.
type Check func(tenant, device string) error

// A Store has all documents of a fleet, in memory or in a database. They do not change
// once they are read, so it is safe for concurrent use.
type Store struct {
	documents map[string]string
	tenants   int
	export    bool
	// version is the SHA-256 of the file, in hexadecimal.
	version string
	// database has the documents in place of the first two.
	database *database
	// owners is the tenant of every MAC, made when it is first asked for: a server
	// knows the tenant from the path and never does.
	index  sync.Once
	owners map[string]string
}

// TenantKey and DeviceKey are the keys under which the core asks.
func TenantKey(tenant string) string      { return "tenant:" + tenant }
func DeviceKey(tenant, mac string) string { return "device:" + tenant + ":" + mac }

// Get returns the document under key. It fails only when a database does.
func (s *Store) Get(_ context.Context, key string) (string, bool, error) {
	if s.database != nil {
		return s.database.get(documentsBucket, []byte(key))
	}
	value, found := s.documents[key]
	return value, found, nil
}

// HasTenant says whether the fleet has this tenant.
func (s *Store) HasTenant(tenant string) bool {
	_, found, _ := s.Get(context.Background(), TenantKey(tenant))
	return found
}

// Tenants counts the documents of tenants.
func (s *Store) Tenants() int {
	if s.database != nil {
		return s.database.tenants
	}
	return s.tenants
}

// Devices counts the documents of devices.
func (s *Store) Devices() int {
	if s.database != nil {
		return s.database.devices
	}
	return len(s.documents) - s.tenants
}

// Version is a word that is another for other documents. It is not for everybody to
// see: passwords are among what it is made of.
func (s *Store) Version() string {
	if s.database != nil {
		return s.database.version
	}
	return s.version
}

// Close gives back what a database holds. Nothing may be asked of the store any more.
func (s *Store) Close() error {
	if s.database != nil {
		return s.database.close()
	}
	return nil
}

// Export says whether the fleet was read from an export of Workers KV, and Database
// whether it is in a database.
func (s *Store) Export() bool   { return s.export }
func (s *Store) Database() bool { return s.database != nil }

// An Error is one thing that is wrong with a fleet file.
type Error struct {
	File string
	// Line counts pairs in an export of Workers KV.
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// Errors is everything that is wrong with a fleet file, in the order of lines.
type Errors struct {
	List []*Error
	// More counts those that are not in List.
	More int
}

func (e *Errors) Error() string {
	var b strings.Builder
	for i, err := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(err.Error())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", e.More)
	}
	return b.String()
}

// keep adds an error, or counts it when there are too many.
func (e *Errors) keep(err *Error) {
	if len(e.List) == maxErrors {
		e.More++
		return
	}
	e.List = append(e.List, err)
}

// Open reads the fleet file at path, or standard input when path is "-". The documents
// of a database were judged when it was made, and stay where they are.
func Open(path string, stdin io.Reader, check Check) (*Store, error) {
	return Reader{Check: check}.Open(path, stdin)
}

// Read reads a fleet file: one JSON object a line, a tenant {"tenant":...} or a
// device {"device":...,"tenant":...}, in any order; blank lines are allowed. Or it is
// an export of Workers KV (see Scan). The name stands for the file in errors. check
// may be nil. An error of the file's contents is an *Errors with everything that is
// wrong.
func Read(name string, r io.Reader, check Check) (*Store, error) {
	return Reader{Check: check}.Read(name, r)
}

// A Reader reads fleet files with sealed documents in them.
type Reader struct {
	Check Check
	// Unseal opens the documents of an export, and of the lines of another file it
	// may refuse some as they stand. Without it nothing sealed is read.
	Unseal Unseal
}

// Open is Open of the package.
func (r Reader) Open(path string, stdin io.Reader) (*Store, error) {
	if path == "-" {
		return r.Read("<stdin>", stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if IsDatabase(f) {
		d, err := openDatabase(path)
		if err != nil {
			return nil, err
		}
		return &Store{database: d}, nil
	}
	return r.Read(path, f)
}

// Read is Read of the package.
func (r Reader) Read(name string, in io.Reader) (*Store, error) {
	l := loader{
		name:    name,
		store:   &Store{documents: map[string]string{}},
		tenants: map[string]int{},
		macs:    map[string]int{},
		check:   r.Check,
	}
	var err error
	sum := sha256.New()
	if l.store.export, err = scan(name, io.TeeReader(in, sum), r.unseal(), l.document, l.errors.keep); err != nil {
		return nil, err
	}
	l.store.version = hex.EncodeToString(sum.Sum(nil))
	l.finish()
	if len(l.errors.List) > 0 {
		slices.SortStableFunc(l.errors.List, func(a, b *Error) int { return a.Line - b.Line })
		return nil, &l.errors
	}
	return l.store, nil
}

// unseal is Unseal, or what opens nothing.
func (r Reader) unseal() Unseal {
	if r.Unseal == nil {
		return seal.Opener{Keys: seal.New(nil)}.Document
	}
	return r.Unseal
}

type loader struct {
	name   string
	store  *Store
	errors Errors
	check  Check
	// tenants and macs hold the line of each.
	tenants, macs map[string]int
	devices       []device
}

// A device waits until all tenants have been read. Its strings share the memory
// of its key.
type device struct {
	line        int
	key, tenant string
}

func (l *loader) fail(line int, format string, args ...any) {
	l.errors.keep(&Error{l.name, line, fmt.Sprintf(format, args...)})
}

// document takes one document in.
func (l *loader) document(d Document) {
	if d.MAC == "" {
		l.tenant(d.Line, d.Tenant, d.Text)
	} else {
		l.device(d.Line, d.Tenant, d.MAC, d.Text)
	}
}

func (l *loader) tenant(line int, tenant, text string) {
	if first, ok := l.tenants[tenant]; ok {
		l.fail(line, "%s", SameTenant(first))
		return
	}
	key := TenantKey(tenant)
	l.tenants[key[len(key)-len(tenant):]] = line
	l.store.documents[key] = text
	l.store.tenants++
}

func (l *loader) device(line int, tenant, mac, text string) {
	key := DeviceKey(tenant, mac)
	// Also in another tenant: one phone cannot be provisioned by two.
	if first, ok := l.macs[mac]; ok {
		_, same := l.store.documents[key]
		l.fail(line, "%s", SameDevice(first, same))
		return
	}
	// Slices of the key, so that a map entry does not keep the line alive twice.
	l.macs[key[len(key)-len(mac):]] = line
	l.devices = append(l.devices, device{line, key, key[len("device:") : len("device:")+len(tenant)]})
	l.store.documents[key] = text
}

// finish judges what needs all lines.
func (l *loader) finish() {
	bad := map[string]bool{}
	if l.check != nil {
		for tenant, line := range l.tenants {
			if err := l.check(l.store.documents[TenantKey(tenant)], ""); err != nil {
				bad[tenant] = true
				l.fail(line, "%v", err)
			}
		}
	}
	for _, d := range l.devices {
		if _, ok := l.tenants[d.tenant]; !ok {
			l.fail(d.line, NoTenant)
			continue
		}
		if l.check == nil || bad[d.tenant] {
			continue
		}
		if err := l.check(l.store.documents[TenantKey(d.tenant)], l.store.documents[d.key]); err != nil {
			l.fail(d.line, "%s: %v", d.key, err)
		}
	}
}
