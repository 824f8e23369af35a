package intake

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stagger/edge/profile"
	"stagger/edge/record"
)

// Generate in the column of a password asks for one that is made here, of Generated
// characters.
const (
	Generate  = "generate"
	Generated = 24
)

// blanks are what is trimmed: what people type and spreadsheets make of it.
const blanks = " \t\u00a0"

var bom = []byte("\ufeff")

func isGenerate(s string) bool { return strings.EqualFold(s, Generate) }

// aliases are other names of columns that spreadsheets are likely to have.
var aliases = map[string]string{"device": "mac", "mac_address": "mac", "extension": "user", "name": "display_name"}

// A column is where the cells of a column of the CSV go.
type column struct {
	name string
	// line is the line whose column it is, from 1; 0 is the device.
	line int
	// field is nil for mac, tenant and keys, and for a column without a name.
	field *record.Field
}

// single says whether a field is one that a cell can hold.
func single(f *record.Field) bool {
	return f.Kind == record.String || f.Kind == record.Int || f.Kind == record.Bool
}

// deviceFields and lineFields are the fields that are columns: every one of a device
// or a line that is a single value and is not set by the row or the column itself.
var (
	deviceFields = fields(profile.Device, "device", "tenant", "schema")
	lineFields   = fields(profile.Line, "index")
)

func fields(schema *record.Schema, but ...string) (list []*record.Field) {
	for i := range schema.Fields {
		if f := &schema.Fields[i]; single(f) && !slices.Contains(but, f.Name) {
			list = append(list, f)
		}
	}
	return list
}

// Columns are the names of all columns, those of the first line without number.
func Columns() (names []string) {
	names = []string{"mac", "tenant"}
	for _, f := range slices.Concat(deviceFields, lineFields) {
		names = append(names, f.Name)
	}
	return append(names, "keys")
}

// parseColumn finds the column that a cell of the header names.
func parseColumn(head string) (column, bool) {
	name := strings.ToLower(strings.Trim(head, blanks))
	name = strings.NewReplacer(" ", "_", "-", "_").Replace(name)
	if name == "" {
		return column{}, true
	}
	line, of := 1, name
	if rest, ok := strings.CutPrefix(name, "line"); ok {
		digits, field, ok := strings.Cut(rest, "_")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 1 || n > profile.MaxLines || digits != strconv.Itoa(n) {
			return column{}, false
		}
		line, of = n, field
	}
	if alias, ok := aliases[of]; ok {
		of = alias
	}
	for _, f := range lineFields {
		if f.Name == of {
			c := column{of, line, f}
			if line > 1 {
				c.name = fmt.Sprintf("line%d_%s", line, of)
			}
			return c, true
		}
	}
	if of != name && aliases[name] != of {
		return column{}, false // line2_vendor
	}
	if of == "mac" || of == "tenant" || of == "keys" {
		return column{name: of}, true
	}
	for _, f := range deviceFields {
		if f.Name == of {
			return column{name: of, field: f}, true
		}
	}
	return column{}, false
}

// letter is the name that spreadsheets give to column i.
func letter(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('A'+(i-1)%26)) + s
	}
	return s
}

// Separators are those that are told apart by the header.
const Separators = ",;\t"

type sheet struct {
	reader
	columns []column
	tenant  string
}

// CSV reads a spreadsheet: a header, and a row for each device. comma 0 is found
// out. tenant is that of the rows that name none. show may be nil.
func CSV(name string, data []byte, f *Fleet, tenant string, comma rune, show func(float64)) *Result {
	s := &sheet{reader: newReader(name, f, show), tenant: tenant}
	s.read(data, comma)
	slices.SortStableFunc(s.result.Problems, func(a, b *Problem) int { return a.Row - b.Row })
	return &s.result
}

func (s *sheet) whole(format string, args ...any) {
	s.result.Unusable = true
	s.result.Problems = append(s.result.Problems, &Problem{File: s.name, What: fmt.Sprintf(format, args...)})
}

func (s *sheet) read(data []byte, comma rune) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		s.whole("is UTF-16: export it as CSV in UTF-8")
		return
	}
	start, row, line := 0, 0, 0
	if bytes.HasPrefix(data, bom) {
		start = len(bom)
	}
	// What a spreadsheet writes for itself in front of the header.
	if first, _, ok := bytes.Cut(data[start:], []byte("\n")); ok && bytes.HasPrefix(first, []byte("sep=")) {
		if sep := bytes.TrimRight(first[4:], "\r"); len(sep) == 1 && strings.Contains(Separators, string(sep)) {
			start, row, line = start+len(first)+1, 1, 1
			if comma == 0 {
				comma = rune(sep[0])
			}
		}
	}
	body := data[start:]
	if comma == 0 {
		comma = detect(body)
	}
	in := csv.NewReader(bytes.NewReader(body))
	in.Comma, in.FieldsPerRecord, in.ReuseRecord = comma, -1, true
	head, broken := false, false
	for at := int64(0); ; {
		cells, err := in.Read()
		if err == io.EOF {
			break
		}
		raw := body[at:in.InputOffset()]
		at = in.InputOffset()
		// The reader passes over empty lines; a spreadsheet counts them.
		for len(raw) > 0 && (raw[0] == '\n' || len(raw) > 1 && raw[0] == '\r' && raw[1] == '\n') {
			raw = raw[bytes.IndexByte(raw, '\n')+1:]
			row++
			line++
		}
		row++
		r := Row{Number: row, Line: line + 1, Raw: raw}
		line += max(1, bytes.Count(raw, []byte("\n")))
		if !head {
			head = true
			if s.header(&r, cells, err); r.Bad {
				s.result.Unusable = true
				return
			}
			// With the mark and the separator that were in front of it.
			s.result.Head = ended(data[:start+int(at)])
			continue
		}
		switch parse := (*csv.ParseError)(nil); {
		case errors.As(err, &parse):
			s.fail(&r, "", quoting(parse))
			broken = true
		case !slices.ContainsFunc(cells, func(cell string) bool { return strings.Trim(cell, blanks) != "" }):
			continue // a row of separators
		default:
			s.row(&r, cells)
			// Behind broken quoting it is not known what is a row and what the
			// inside of a field, which another person may have written.
			r.Bad = r.Bad || broken
		}
		s.result.Rows = append(s.result.Rows, r)
		s.show(float64(at) / float64(len(body)))
	}
	if !head {
		s.whole("is empty: the first row has to name the columns")
	}
}

func quoting(err *csv.ParseError) string {
	if errors.Is(err, csv.ErrBareQuote) {
		return `has a quote inside of a field that is not quoted; rows behind it cannot be trusted`
	}
	return `has a quoted field that does not end, or goes on behind its quote; rows behind it cannot be trusted`
}

// ended makes sure of a line end.
func ended(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\n")) {
		return line
	}
	return append(slices.Clip(line), '\n')
}

// detect finds the separator with which the header has the most known columns.
func detect(body []byte) rune {
	best, most := ',', 0
	for _, comma := range Separators {
		in := csv.NewReader(bytes.NewReader(body))
		in.Comma = comma
		cells, _ := in.Read()
		n := 0
		for _, cell := range cells {
			if c, ok := parseColumn(cell); ok && c.name != "" {
				n++
			}
		}
		if n > most {
			best, most = comma, n
		}
	}
	return best
}

func (s *sheet) header(r *Row, cells []string, err error) {
	if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
		s.fail(r, "", quoting(parse))
		return
	}
	seen := map[string]int{}
	for i, cell := range cells {
		c, ok := parseColumn(cell)
		at := fmt.Sprintf("%d (%s)", i+1, letter(i))
		switch {
		case !ok:
			s.fail(r, at, "has a name that no column has: "+strings.Join(Columns(), ", ")+"; for further lines line2_user and so on")
		case c.name == "":
		case seen[c.name] > 0:
			s.fail(r, at, fmt.Sprintf("is %s, as is column %d (%s)", c.name, seen[c.name], letter(seen[c.name]-1)))
		default:
			seen[c.name] = i + 1
		}
		s.columns = append(s.columns, c)
	}
	if seen["mac"] == 0 {
		s.fail(r, "mac", "is missing")
	}
	if seen["tenant"] == 0 && s.tenant == "" {
		s.fail(r, "tenant", "is missing, and --tenant is not given")
	}
}

// row makes the document of a row.
func (s *sheet) row(r *Row, cells []string) {
	if len(cells) != len(s.columns) {
		// Which cell is whose cannot be told.
		s.fail(r, "", fmt.Sprintf("has %d cells, the header %d", len(cells), len(s.columns)))
		return
	}
	mac, tenant, before := "", s.tenant, len(s.result.Problems)
	device := make([]string, len(deviceFields))
	lines := map[int][]string{}
	keys := ""
	for i, cell := range cells {
		c := &s.columns[i]
		if cell == "" {
			if c.name == "mac" {
				s.fail(r, "mac", "is required")
			}
			continue
		}
		if c.name == "" {
			if strings.Trim(cell, blanks) != "" {
				s.fail(r, fmt.Sprintf("%d (%s)", i+1, letter(i)), "has no name in the header")
			}
			continue
		}
		if !utf8.ValidString(cell) {
			// Before anything else: encoding it would replace what is not.
			s.fail(r, c.name, "is not UTF-8")
			continue
		}
		switch {
		case c.name == "mac":
			if mac = ParseMAC(cell); mac == "" {
				s.fail(r, "mac", "is not the MAC of a device: twelve hexadecimal digits")
			}
		case c.name == "tenant":
			if text := strings.Trim(cell, blanks); text != "" {
				tenant = text
			}
		case c.name == "keys":
			var what string
			if keys, what = parseKeys(cell); what != "" {
				s.fail(r, c.name, what)
			}
		default:
			json, what := value(c.field, cell)
			switch {
			case what != "":
				s.fail(r, c.name, what)
			case json == "":
			case c.line == 0:
				device[slices.Index(deviceFields, c.field)] = json
			default:
				if lines[c.line] == nil {
					lines[c.line] = make([]string, len(lineFields))
				}
				lines[c.line][slices.Index(lineFields, c.field)] = json
			}
		}
	}
	if tenant == "" {
		s.fail(r, "tenant", "is required")
	} else if !s.fleet.HasTenant(tenant) {
		s.fail(r, "tenant", "is not a tenant of the fleet")
	}
	// What only the whole shows counts when every cell is good: the check would
	// find a bad one again, or find it missing.
	good := len(s.result.Problems) == before
	if mac != "" {
		s.claim(r, mac, tenant, "mac")
	}
	if !good || mac == "" {
		return
	}
	document, numbers := compose(mac, tenant, device, lines, keys)
	if path, what := s.judge(tenant, document); what != "" {
		column, what := columnOf(path, what, numbers)
		s.fail(r, column, what)
		return
	}
	r.Document = document
}

// value turns a cell into JSON by the rule of its field; "" is a cell without a
// value. what is what is wrong with it.
func value(f *record.Field, cell string) (json, what string) {
	secret := f.Rule == record.Secret
	if !secret && f.Rule != record.User || f.Kind != record.String {
		cell = strings.Trim(cell, blanks)
		if cell == "" {
			return "", ""
		}
	}
	switch f.Kind {
	case record.Bool:
		switch strings.ToLower(cell) {
		case "true", "yes", "1":
			return "true", ""
		case "false", "no", "0":
			return "false", ""
		}
		return "", "is none of true, yes, 1, false, no, 0"
	case record.Int:
		n, err := strconv.ParseInt(cell, 10, 64)
		if err != nil || n < f.Min || n > f.Max || strconv.FormatInt(n, 10) != cell {
			return "", fmt.Sprintf("is not a whole number from %d to %d", f.Min, f.Max)
		}
		return cell, ""
	}
	if f.Secret && isGenerate(cell) {
		return quote(newSecret()), ""
	}
	first, _ := utf8.DecodeRuneInString(cell)
	last, _ := utf8.DecodeLastRuneInString(cell)
	switch {
	case f.Words != nil:
		if !slices.Contains(f.Words, cell) {
			return "", "is none of " + strings.Join(f.Words, ", ")
		}
	case int64(len(cell)) < f.Min:
		return "", fmt.Sprintf("is shorter than %d bytes", f.Min)
	case int64(len(cell)) > f.Max:
		return "", fmt.Sprintf("is longer than %d bytes", f.Max)
	case secret && (unicode.IsSpace(first) || unicode.IsSpace(last)):
		return "", "has a blank at its edge"
	}
	if bad := f.Rule.Check(cell); bad != "" {
		return "", bad
	}
	return quote(cell), ""
}

// newSecret makes a password of letters and digits, which every format can carry.
func newSecret() string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	secret := make([]byte, 0, Generated)
	for len(secret) < Generated {
		var random [2 * Generated]byte
		rand.Read(random[:]) // never fails
		for _, b := range random {
			// 248 is 4*62: above it some characters would come more often.
			if b < 248 && len(secret) < Generated {
				secret = append(secret, alphabet[b%62])
			}
		}
	}
	return string(secret)
}
