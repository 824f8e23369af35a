package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// An Index knows where in a fleet file each device is, and has only the documents of
// tenants in memory: 24 bytes a device. It is safe for concurrent use, as long as
// nobody changes the file.
type Index struct {
	name string
	file io.ReaderAt
	// database has the documents in place of file.
	database  *database
	export    bool
	unseal    Unseal
	devices   []place
	tenants   []string
	documents map[string]string
}

// A place is where a device is: in a database only its MAC and its tenant.
type place struct {
	mac    uint64
	offset int64
	length uint32
	tenant uint32
}

// Index reads a whole file once, or of Lines the keys of their database. It finds
// everything wrong that Read finds without a Check. Unseal has to be safe for concurrent
// use: documents are opened again when they are read.
func (r Reader) Index(name string, file io.ReaderAt) (*Index, error) {
	x := &Index{name: name, file: file, unseal: r.unseal(), documents: map[string]string{}}
	if lines, ok := file.(*Lines); ok {
		x.database = lines.database
		return x, x.readOwners()
	}
	numbers := map[string]uint32{} // positions in tenants
	var errs Errors
	fail := func(line int, what string) { errs.keep(&Error{name, line, what}) }
	number := func(tenant string) uint32 {
		n, ok := numbers[tenant]
		if !ok {
			tenant = strings.Clone(tenant)
			n = uint32(len(x.tenants))
			x.tenants = append(x.tenants, tenant)
			numbers[tenant] = n
		}
		return n
	}
	// lines holds the line of each tenant.
	lines := map[string]int{}
	var err error
	if x.export, err = scan(name, x.all(), x.unseal, func(d Document) {
		n := number(d.Tenant)
		if d.MAC != "" {
			x.devices = append(x.devices, place{macNumber(d.MAC), d.Offset, uint32(d.Length), n})
			return
		}
		if first, ok := lines[x.tenants[n]]; ok {
			fail(d.Line, SameTenant(first))
			return
		}
		lines[x.tenants[n]] = d.Line
		x.documents[x.tenants[n]] = d.Text
	}, errs.keep); err != nil {
		return nil, err
	}
	// By MAC, and the first of two first.
	slices.SortFunc(x.devices, func(a, b place) int { return cmp.Or(cmp.Compare(a.mac, b.mac), cmp.Compare(a.offset, b.offset)) })
	var twice []place
	for i := 1; i < len(x.devices); i++ {
		if x.devices[i].mac == x.devices[i-1].mac {
			twice = append(twice, x.devices[i-1], x.devices[i])
		}
	}
	orphan := slices.ContainsFunc(x.tenants, func(t string) bool { return lines[t] == 0 })
	if len(errs.List) == 0 && (len(twice) > 0 || orphan) {
		if err := x.explain(lines, fail); err != nil {
			return nil, err
		}
	}
	if len(errs.List) > 0 {
		slices.SortStableFunc(errs.List, func(a, b *Error) int { return a.Line - b.Line })
		return nil, &errs
	}
	return x, nil
}

// readOwners fills the index of a database, which has its devices in the order of MACs.
func (x *Index) readOwners() error {
	numbers := map[string]uint32{} // positions in tenants
	x.devices = make([]place, 0, x.database.devices)
	err := x.database.view(func(tx *bbolt.Tx) error {
		documents := tx.Bucket(documentsBucket)
		c := documents.Cursor()
		prefix := []byte(TenantKey(""))
		for key, text := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, text = c.Next() {
			tenant := string(key[len(prefix):])
			numbers[tenant] = uint32(len(x.tenants))
			x.tenants = append(x.tenants, tenant)
			x.documents[tenant] = string(text)
		}
		return tx.Bucket(ownersBucket).ForEach(func(mac, tenant []byte) error {
			n, ok := numbers[string(tenant)]
			if !ok || len(mac) != 6 {
				return errDamaged
			}
			x.devices = append(x.devices, place{mac: binary.BigEndian.Uint64(append([]byte{0, 0}, mac...)), tenant: n})
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", x.name, err)
	}
	return nil
}

// Of is the index of the devices of one tenant, with this document in the place of the
// tenant's own.
func (x *Index) Of(tenant, document string) *Index {
	of := *x
	of.devices = nil
	of.documents = map[string]string{tenant: document}
	for _, p := range x.devices {
		if x.tenants[p.tenant] == tenant {
			of.devices = append(of.devices, p)
		}
	}
	return &of
}

// explain reads the file again for the lines of what is there twice and of what has no
// tenant: an index has no room for lines.
func (x *Index) explain(lines map[string]int, fail func(int, string)) error {
	type first struct {
		line   int
		tenant string
	}
	seen := map[string]first{}
	_, err := scan(x.name, x.all(), x.unseal, func(d Document) {
		if d.MAC == "" {
			return
		}
		if have, ok := seen[d.MAC]; ok {
			fail(d.Line, SameDevice(have.line, have.tenant == d.Tenant))
			return
		}
		if i := x.find(macNumber(d.MAC)); i+1 < len(x.devices) && x.devices[i+1].mac == x.devices[i].mac {
			seen[strings.Clone(d.MAC)] = first{d.Line, strings.Clone(d.Tenant)}
		}
		if lines[d.Tenant] == 0 {
			fail(d.Line, NoTenant)
		}
	}, func(*Error) {})
	return err
}

// all is the whole file, from its beginning.
func (x *Index) all() io.Reader { return io.NewSectionReader(x.file, 0, math.MaxInt64) }

func macNumber(mac string) uint64 {
	var b [8]byte
	if _, err := hex.Decode(b[2:], []byte(mac)); err != nil {
		panic(err) // Scan has seen that it is one
	}
	return binary.BigEndian.Uint64(b[:])
}

// find is the position of the first device at or above this MAC.
func (x *Index) find(mac uint64) int {
	i, _ := slices.BinarySearchFunc(x.devices, mac, func(p place, mac uint64) int { return cmp.Compare(p.mac, mac) })
	return i
}

// Devices counts the devices.
func (x *Index) Devices() int { return len(x.devices) }

// Device is the device at a position, in the order of MACs: its MAC and its tenant.
func (x *Index) Device(i int) (mac, tenant string) {
	return fmt.Sprintf("%012x", x.devices[i].mac), x.tenants[x.devices[i].tenant]
}

// Document reads the document of the device at a position.
func (x *Index) Document(i int) (string, error) {
	if x.database != nil {
		mac, tenant := x.Device(i)
		text, found, err := x.database.get(documentsBucket, []byte(DeviceKey(tenant, mac)))
		if err == nil && !found {
			err = errDamaged
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", x.name, err)
		}
		return text, nil
	}
	p := x.devices[i]
	b := make([]byte, p.length)
	if _, err := x.file.ReadAt(b, p.offset); err != nil {
		return "", fmt.Errorf("read %s: %w", x.name, err)
	}
	if !x.export {
		return string(b), nil
	}
	key, text, wrong := readPair(string(b))
	if len(wrong) > 0 {
		return "", fmt.Errorf("read %s: it has changed", x.name)
	}
	return x.unseal(key, text)
}

// TenantDocuments are the documents of tenants, by name.
func (x *Index) TenantDocuments() map[string]string { return x.documents }

// Pairs goes through the devices of two files by MAC and calls each with the positions of
// one device in both, -1 where it is not.
func Pairs(old, new *Index, each func(old, new int) bool) {
	for i, j := 0, 0; i < len(old.devices) || j < len(new.devices); {
		order := 0
		switch {
		case i == len(old.devices):
			order = 1
		case j == len(new.devices):
			order = -1
		default:
			order = cmp.Compare(old.devices[i].mac, new.devices[j].mac)
		}
		a, b := -1, -1
		if order <= 0 {
			a = i
			i++
		}
		if order >= 0 {
			b = j
			j++
		}
		if !each(a, b) {
			return
		}
	}
}
