package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"stagger/edge/record"
)

// A Document is one line of a fleet file.
type Document struct {
	Line int
	// MAC is empty for the document of a tenant.
	Tenant, MAC string
	// Text is the document as it stands, without the blanks around it.
	Text string
}

// Key is the key under which the core asks for the document.
func (d Document) Key() string {
	if d.MAC == "" {
		return TenantKey(d.Tenant)
	}
	return DeviceKey(d.Tenant, d.MAC)
}

// NoTenant is what is wrong with a device whose tenant is not there.
const NoTenant = "its tenant is not in the file"

// SameTenant and SameDevice say what is wrong with the second document of a tenant
// or a device: where the first is.
func SameTenant(first int) string { return fmt.Sprintf("the same tenant as on line %d", first) }

// SameDevice is told whether the first is of the same tenant.
func SameDevice(first int, same bool) string {
	what := fmt.Sprintf("the same device as on line %d", first)
	if !same {
		what += ", there of another tenant"
	}
	return what
}

// Scan reads a fleet file document by document and keeps none of them. It calls
// document for each that says which tenant's or device's it is, and fail for each
// line that does not, in the order of lines. What needs more than one line (that
// each is there once, and every tenant) is for the caller to see.
func Scan(name string, r io.Reader, document func(Document), fail func(*Error)) error {
	in := bufio.NewReaderSize(r, MaxLine+2) // and the end of line, "\r\n" at most
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		long := len(bytes.TrimRight(line, "\r\n")) > MaxLine
		for errors.Is(err, bufio.ErrBufferFull) {
			long = true
			_, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s: %w", name, err)
		}
		switch text := bytes.TrimSpace(line); {
		case long:
			fail(&Error{name, n, fmt.Sprintf("longer than %d bytes", MaxLine)})
		case len(text) > 0:
			d, wrong := identify(string(text))
			for _, what := range wrong {
				fail(&Error{name, n, what})
			}
			if len(wrong) == 0 {
				d.Line = n
				document(d)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// identify finds out whose document a line is, or what is wrong with it.
func identify(text string) (d Document, wrong []string) {
	if !utf8.ValidString(text) {
		return d, []string{"not UTF-8"}
	}
	if !gjson.Valid(text) {
		return d, []string{"not JSON, or more than one value on the line"}
	}
	object := gjson.Parse(text)
	if !object.IsObject() {
		return d, []string{"not an object"}
	}
	var mac, tenant gjson.Result
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
			wrong = append(wrong, name.Str+" is there twice")
		}
		*field = value
		return true
	})
	switch {
	case len(wrong) > 0:
	case !tenant.Exists():
		wrong = append(wrong, "tenant is missing")
	case tenant.Type != gjson.String || !record.IsTenant(tenant.Str):
		wrong = append(wrong, "tenant is not the name of a tenant")
	case mac.Exists() && (mac.Type != gjson.String || !record.IsMAC(mac.Str)):
		wrong = append(wrong, "device is not a MAC address of twelve digits 0-9 and a-f")
	default:
		d = Document{Tenant: tenant.Str, MAC: mac.Str, Text: text}
	}
	return d, wrong
}
