// Package fleet reads the documents of a fleet from a file of JSON Lines and
// serves them to the core.
//
// It owns the file: which line is a tenant and which a device, under what key the
// core finds it, and that each is there once. It must never change a document
// (the core gets the line as it stands) and never put a value of one into an
// error: a fleet file is full of passwords.
package fleet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"stagger/edge/profile"
	"stagger/edge/record"
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

// A Store has all documents of a fleet in memory. It does not change once it is
// read, so it is safe for concurrent use.
type Store struct {
	documents map[string]string
	tenants   int
}

// TenantKey and DeviceKey are the keys under which the core asks.
func TenantKey(tenant string) string      { return "tenant:" + tenant }
func DeviceKey(tenant, mac string) string { return "device:" + tenant + ":" + mac }

// Get returns the document under key. It never fails.
func (s *Store) Get(_ context.Context, key string) (string, bool, error) {
	value, found := s.documents[key]
	return value, found, nil
}

// HasTenant says whether the fleet has this tenant.
func (s *Store) HasTenant(tenant string) bool {
	_, found := s.documents[TenantKey(tenant)]
	return found
}

// Tenants and Devices count the documents.
func (s *Store) Tenants() int { return s.tenants }
func (s *Store) Devices() int { return len(s.documents) - s.tenants }

// An Error is one thing that is wrong with a fleet file.
type Error struct {
	File string
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

// Open reads the fleet file at path, or standard input when path is "-".
func Open(path string, stdin io.Reader, check Check) (*Store, error) {
	if path == "-" {
		return Read("<stdin>", stdin, check)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(path, f, check)
}

// Read reads a fleet file: one JSON object a line, a tenant {"tenant":...} or a
// device {"device":...,"tenant":...}, in any order; blank lines are allowed. The
// name stands for the file in errors. check may be nil. An error of the file's
// contents is an *Errors with everything that is wrong.
func Read(name string, r io.Reader, check Check) (*Store, error) {
	l := loader{
		name:    name,
		store:   &Store{documents: map[string]string{}},
		tenants: map[string]int{},
		macs:    map[string]int{},
		check:   check,
	}
	if err := l.lines(r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	l.finish()
	if len(l.errors.List) > 0 {
		slices.SortStableFunc(l.errors.List, func(a, b *Error) int { return a.Line - b.Line })
		return nil, &l.errors
	}
	return l.store, nil
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
	if len(l.errors.List) == maxErrors {
		l.errors.More++
		return
	}
	l.errors.List = append(l.errors.List, &Error{l.name, line, fmt.Sprintf(format, args...)})
}

// lines reads line by line, so that what is in memory is the documents and not
// the file beside them.
func (l *loader) lines(r io.Reader) error {
	in := bufio.NewReaderSize(r, MaxLine+2) // and the end of line, "\r\n" at most
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		long := len(bytes.TrimRight(line, "\r\n")) > MaxLine
		for errors.Is(err, bufio.ErrBufferFull) {
			long = true
			_, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return err
		}
		switch text := bytes.TrimSpace(line); {
		case long:
			l.fail(n, "longer than %d bytes", MaxLine)
		case len(text) > 0:
			l.document(n, string(text))
		}
		if err == io.EOF {
			return nil
		}
	}
}

// document takes one document in.
func (l *loader) document(line int, text string) {
	if !utf8.ValidString(text) {
		l.fail(line, "not UTF-8")
		return
	}
	if !gjson.Valid(text) {
		l.fail(line, "not JSON, or more than one value on the line")
		return
	}
	object := gjson.Parse(text)
	if !object.IsObject() {
		l.fail(line, "not an object")
		return
	}
	var mac, tenant gjson.Result
	good := true
	// By iteration: of two fields of one name gjson's Get would take the first
	// and other readers the last.
	object.ForEach(func(name, value gjson.Result) bool {
		var field *gjson.Result
		switch name.Str {
		case "device":
			field = &mac
		case "tenant":
			field = &tenant
		default:
			return true
		}
		if field.Exists() {
			l.fail(line, "%s is there twice", name.Str)
			good = false
		}
		*field = value
		return true
	})
	switch {
	case !good:
	case !tenant.Exists():
		l.fail(line, "tenant is missing")
	case tenant.Type != gjson.String || !record.IsTenant(tenant.Str):
		l.fail(line, "tenant is not the name of a tenant")
	case !mac.Exists():
		l.tenant(line, tenant.Str, text)
	case mac.Type != gjson.String || !record.IsMAC(mac.Str):
		l.fail(line, "device is not a MAC address of twelve digits 0-9 and a-f")
	default:
		l.device(line, tenant.Str, mac.Str, text)
	}
}

func (l *loader) tenant(line int, tenant, text string) {
	if first, ok := l.tenants[tenant]; ok {
		l.fail(line, "the same tenant as on line %d", first)
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
		what := "the same device as on line %d"
		if _, same := l.store.documents[key]; !same {
			what += ", there of another tenant"
		}
		l.fail(line, what, first)
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
			l.fail(d.line, "its tenant is not in the file")
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
