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
	"stagger/host/seal"
)

// A Document is one line of a fleet file.
type Document struct {
	Line int
	// MAC is empty for the document of a tenant.
	Tenant, MAC string
	// Text is the document as it stands, without the blanks around it.
	Text string
	// Offset and Length say where in the file it is: the document itself, or the pair
	// of an export that has it.
	Offset int64
	Length int
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

// Unseal returns the document that a text stands for which lies under this key of a
// store. Its error must hold nothing of the text.
type Unseal func(key, text string) (string, error)

// Scan reads a fleet file document by document and keeps none of them. It calls
// document for each that says which tenant's or device's it is, and fail for each
// line that does not, in the order of lines. What needs more than one line (that
// each is there once, and every tenant) is for the caller to see.
//
// A file that begins with "[" is an export of Workers KV. Its pairs are counted in the
// place of lines, and none of them may be sealed.
func Scan(name string, r io.Reader, document func(Document), fail func(*Error)) error {
	_, err := scan(name, r, seal.Opener{Keys: seal.New(nil)}.Document, document, fail)
	return err
}

// scan is Scan with documents that are opened by unseal. It says whether the file is
// an export.
func scan(name string, r io.Reader, unseal Unseal, document func(Document), fail func(*Error)) (export bool, err error) {
	in := bufio.NewReaderSize(r, MaxLine+2) // and the end of line, "\r\n" at most
	s := scanner{name, unseal, document, fail}
	if export, err = isExport(in); err == nil {
		if export {
			err = s.pairs(in)
		} else {
			err = s.lines(in)
		}
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", name, err)
	}
	return export, err
}

type scanner struct {
	name     string
	unseal   Unseal
	document func(Document)
	fail     func(*Error)
}

func (s *scanner) wrong(line int, what ...string) {
	for _, w := range what {
		s.fail(&Error{s.name, line, w})
	}
}

const tooLong = "longer than %d bytes"

func (s *scanner) lines(in *bufio.Reader) error {
	next := int64(0) // where the next line begins
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		at := next
		next += int64(len(line))
		long := len(bytes.TrimRight(line, "\r\n")) > MaxLine
		for errors.Is(err, bufio.ErrBufferFull) {
			long = true
			var rest []byte
			rest, err = in.ReadSlice('\n')
			next += int64(len(rest))
		}
		if err != nil && err != io.EOF {
			return err
		}
		switch text := bytes.TrimSpace(line); {
		case long:
			s.wrong(n, fmt.Sprintf(tooLong, MaxLine))
		case len(text) > 0:
			d, wrong := identify(string(text))
			d.Offset, d.Length = at+int64(bytes.Index(line, text)), len(text)
			if len(wrong) == 0 {
				// The line as it stands has a say in whether it may stand there.
				if _, err := s.unseal(d.Key(), d.Text); err != nil {
					wrong = append(wrong, err.Error())
				}
			}
			s.take(n, d, wrong)
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (s *scanner) take(line int, d Document, wrong []string) {
	if s.wrong(line, wrong...); len(wrong) == 0 {
		d.Line = line
		s.document(d)
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
