package accesslog

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Options are what a log does not say by itself.
type Options struct {
	// Zone is that of times without one; nil is UTC.
	Zone *time.Location
	// Now is the clock, which says what year a time without one is of, and what times
	// cannot be. It is required: time.Now, but for tests.
	Now func() time.Time
	// Timed wants a time of every record: a line without one is bad.
	Timed bool
	// Agent says what kind of client a User-Agent is, in one word; nil does not.
	Agent func(userAgent string) string
}

func (o *Options) agent(userAgent string) string {
	if o.Agent == nil {
		return ""
	}
	return o.Agent(userAgent)
}

// What can be wrong with a line.
var (
	errTime   = errors.New("no time")
	errPast   = errors.New("a time before the year 2000")
	errFuture = errors.New("a time in the future")
	errJSON   = errors.New("JSON that is cut off or broken")
	errCells  = errors.New("not as many cells as the header has")
)

// Limits of what one log may make the reader keep.
const (
	maxNames  = 10000   // words
	maxWord   = 64      // bytes of one
	maxObject = 1 << 20 // bytes of an object over several lines
)

// A Parser takes the lines of one log apart.
type Parser struct {
	options Options
	// names are the words that have come up, so that each is there once.
	names map[string]string
	// begun says that a line has been seen: only the first can be a CSV header.
	begun   bool
	columns []func(p *Parser, r *Record, value string)
	comma   rune
	// object holds the lines of a JSON object that is not finished yet.
	object []byte
}

// NewParser makes a parser for one log.
func NewParser(o Options) *Parser {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &Parser{options: o, names: map[string]string{}}
}

// intern returns the one copy of a word.
func (p *Parser) intern(word string) string {
	if s, ok := p.names[word]; ok {
		return s
	}
	s := strings.Clone(word)
	if len(p.names) < maxNames {
		p.names[s] = s
	}
	return s
}

// word is a word as it may be shown on a terminal or a page: what it is not made of is
// a question mark.
func (p *Parser) word(text string) string {
	text = text[:min(len(text), maxWord)]
	plain := true
	for i := range len(text) {
		plain = plain && printable(text[i])
	}
	if plain {
		return p.intern(text)
	}
	b := []byte(text)
	for i := range b {
		if !printable(b[i]) {
			b[i] = '?'
		}
	}
	return p.intern(string(b))
}

func printable(c byte) bool {
	return alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == ' '
}

// Line takes one line, without its end, and emits the requests that it tells of: none
// for lines of something else, several where a line wraps several. The error says
// what is wrong with the line, and holds nothing of it.
func (p *Parser) Line(line []byte, emit func(*Record)) error {
	indented := len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
	trimmed := bytes.TrimSpace(line)
	if !p.begun {
		trimmed = bytes.TrimPrefix(trimmed, []byte("\uFEFF"))
	}
	if len(p.object) > 0 {
		return p.more(trimmed, indented, emit)
	}
	if len(trimmed) == 0 {
		return nil
	}
	// The text is only read while the line is there; what is kept is copied.
	text := unsafe.String(&trimmed[0], len(trimmed))
	first := !p.begun
	p.begun = true
	switch {
	case text == "{":
		p.object = append(p.object[:0], '{')
		return nil
	case text[0] == '{':
		return p.json(text, emit)
	case first && p.header(text):
		return nil
	case p.columns != nil:
		// The last cells of a row may be empty, and tabs between.
		return p.cells(strings.TrimRight(string(line), "\r"), emit)
	}
	return p.text(text, emit)
}

// more takes one more line of an object that is written over several, as by wrangler
// tail: its last line is a brace that is not indented.
func (p *Parser) more(line []byte, indented bool, emit func(*Record)) error {
	p.object = append(append(p.object, '\n'), line...)
	switch {
	case !indented && len(line) == 1 && line[0] == '}':
		text := string(p.object)
		p.object = p.object[:0]
		return p.json(text, emit)
	case !indented && len(line) > 0 || len(p.object) > maxObject:
		p.object = p.object[:0]
		return errJSON
	}
	return nil
}

// End says that no more lines come.
func (p *Parser) End() error {
	if len(p.object) > 0 {
		p.object = p.object[:0]
		return errJSON
	}
	return nil
}

// finish emits a record if it is one of a request.
func (p *Parser) finish(r *Record, emit func(*Record)) error {
	if r.MAC == 0 && r.Outcome == "" && r.Status == 0 {
		return nil // a line of something else
	}
	if p.options.Timed {
		switch {
		case r.Time == 0:
			return errTime
		case r.Time < firstTime:
			return errPast
		case r.Time > p.options.Now().Add(24*time.Hour).UnixNano():
			return errFuture
		}
	}
	emit(r)
	return nil
}

// json takes a line that is a JSON object.
func (p *Parser) json(text string, emit func(*Record)) error {
	if !gjson.Valid(text) {
		return errJSON
	}
	return p.wrapped(gjson.Parse(text), Record{}, 0, emit)
}

// deepest is how far objects in objects and in strings are followed.
const deepest = 3

// wrapped takes one object, and what it wraps. base is what is known around it.
func (p *Parser) wrapped(object gjson.Result, base Record, depth int, emit func(*Record)) error {
	r := base
	var inside []gjson.Result
	wraps := false
	object.ForEach(func(name, value gjson.Result) bool {
		switch key := lower(name.Str); {
		case value.Type == gjson.String && (key == "message" || key == "log" || key == "msg") && strings.HasPrefix(value.Str, "{"):
			inside, wraps = append(inside, value), true
		case key == "logs" && value.IsArray() || key == "message" && value.IsArray():
			inside, wraps = append(inside, value.Array()...), true
		case (key == "request" || key == "event") && value.IsObject():
			p.about(value, &r)
		case value.Type == gjson.String:
			if set := fields[key]; set != nil {
				set(p, &r, value.Str)
			}
		case value.Type == gjson.Number:
			if key == "eventtimestamp" || key == "timestampms" {
				key = "time"
			}
			if set := fields[key]; set != nil {
				set(p, &r, value.Raw)
			}
		}
		return true
	})
	if !wraps || depth == deepest {
		return p.finish(&r, emit)
	}
	// What a wrapper says of itself, such as its own outcome, says nothing of what is
	// in it, but for when and from where.
	inner := Record{Time: r.Time, Remote: r.Remote}
	var first error
	for _, w := range inside {
		var err error
		switch {
		case w.IsObject():
			err = p.wrapped(w, inner, depth+1, emit)
		case w.Type == gjson.String && strings.HasPrefix(w.Str, "{") && gjson.Valid(w.Str):
			err = p.wrapped(gjson.Parse(w.Str), inner, depth+1, emit)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// about takes what a log groups under "request", and the platform's event around one:
// the address alone, for the rest is the record's to say.
func (p *Parser) about(object gjson.Result, r *Record) {
	object.ForEach(func(name, value gjson.Result) bool {
		switch key := lower(name.Str); key {
		case "request":
			p.about(value, r)
		case "headers":
			setRemote(p, r, value.Get("cf-connecting-ip").Str)
			agent := value.Get("User-Agent")
			if agent.IsArray() {
				agent = agent.Get("0")
			}
			setAgent(p, r, agent.Str)
		case "uri", "remote_ip", "client_ip", "remote_addr":
			fields[key](p, r, value.Str)
		}
		return true
	})
}

// lower is strings.ToLower, which is called for every name and has nearly always
// nothing to do.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 0x80 {
			return strings.ToLower(s)
		}
	}
	return s
}

// header says whether a line is the header of a CSV, and keeps its columns.
func (p *Parser) header(text string) bool {
	for _, comma := range ",;\t" {
		cells := split(text, comma)
		var columns []func(*Parser, *Record, string)
		timed, named := false, false
		for _, cell := range cells {
			name := strings.ToLower(strings.TrimSpace(cell))
			switch name {
			case "time", "timestamp", "ts", "@timestamp", "date", "datetime":
				timed = true
			case "mac", "mac_address", "device", "path", "request":
				named = true
			}
			columns = append(columns, fields[name])
		}
		if timed && named {
			p.columns, p.comma = columns, comma
			return true
		}
	}
	return false
}

// split is the cells of a line; nil where the quotes are broken.
func split(text string, comma rune) []string {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	cells, err := r.Read()
	if err != nil && err != io.EOF {
		return nil
	}
	return cells
}

// cells takes a row of a CSV.
func (p *Parser) cells(text string, emit func(*Record)) error {
	cells := split(text, p.comma)
	if len(cells) != len(p.columns) {
		return errCells
	}
	var r Record
	for i, set := range p.columns {
		if cell := strings.TrimSpace(cells[i]); set != nil && cell != "" {
			set(p, &r, cell)
		}
	}
	return p.finish(&r, emit)
}

// text takes a line of any other kind: what is at its beginning says when, and the
// rest is one of several things.
func (p *Parser) text(text string, emit func(*Record)) error {
	r := Record{}
	rest := text
	if i := strings.IndexByte(rest, '>'); rest[0] == '<' && i > 0 && i <= 4 { // RFC 5424
		rest = strings.TrimPrefix(rest[i+1:], "1 ")
	}
	if t, n := p.timeAt(strings.TrimPrefix(rest, "[")); t != 0 {
		r.Time = t
		rest = strings.TrimPrefix(rest, "[")[n:]
	}
	// Records of JSON behind what a log daemon puts in front.
	if i := strings.Index(rest, `{"`); i >= 0 && strings.HasSuffix(rest, "}") && gjson.Valid(rest[i:]) {
		return p.wrapped(gjson.Parse(rest[i:]), r, 0, emit)
	}
	if i := strings.Index(text, "time="); i == 0 || strings.Contains(text, " mac=") || strings.Contains(text, " outcome=") {
		p.pairs(rest, &r)
		return p.finish(&r, emit)
	}
	if i := strings.IndexByte(text, '['); i >= 0 {
		if t, n := p.timeAt(text[i+1:]); t != 0 && strings.HasPrefix(text[i+1+n:], "]") && strings.Contains(text[i:], `] "`) {
			r.Time = t
			p.combined(text[:i], text[i+1+n+1:], &r)
			return p.finish(&r, emit)
		}
	}
	if r.MAC = macIn(rest); r.MAC != 0 {
		for word := range strings.FieldsSeq(rest) {
			if addr := addrIn(strings.Trim(word, "[](),;")); addr.IsValid() && strings.ContainsAny(word, ".:") {
				r.Remote = addr
				break
			}
		}
		return p.finish(&r, emit)
	}
	if p.options.Timed && r.Time == 0 {
		return errTime
	}
	return nil
}

// pairs takes name=value pairs as log/slog's text has them.
func (p *Parser) pairs(text string, r *Record) {
	for text != "" {
		text = strings.TrimLeft(text, " ")
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			return
		}
		// Words without a value in front of the name are passed over.
		name = name[strings.LastIndexByte(name, ' ')+1:]
		value := rest
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return
			}
			if value, err = strconv.Unquote(quoted); err != nil {
				return
			}
			rest = rest[len(quoted):]
		} else {
			value, rest, _ = strings.Cut(rest, " ")
		}
		if set := fields[lower(name)]; set != nil && value != "" {
			set(p, r, value)
		}
		text = rest
	}
}

// combined takes what is before and behind the time in the line of a web server:
// host, users; request, status, bytes, referrer, agent.
func (p *Parser) combined(before, rest string, r *Record) {
	for word := range strings.FieldsSeq(before) {
		if addr := addrIn(word); addr.IsValid() {
			r.Remote = addr
			break
		}
	}
	var quoted []string
	for len(quoted) < 3 {
		open := strings.IndexByte(rest, '"')
		if open < 0 {
			break
		}
		end := open + 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			break
		}
		quoted = append(quoted, rest[open+1:end])
		rest = rest[end+1:]
		if len(quoted) == 1 {
			status, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
			fields["status"](p, r, status)
		}
	}
	if len(quoted) > 0 {
		setRequest(p, r, quoted[0])
	}
	if len(quoted) > 2 && quoted[2] != "-" {
		setAgent(p, r, quoted[2])
	}
}
