package wire

import "strconv"

// Error says where a message departs from the layout.
type Error struct {
	// What was being read, and Offset, where in the message.
	What   string
	Offset int
}

func (e *Error) Error() string {
	return "malformed message: " + e.What + " at offset " + strconv.Itoa(e.Offset)
}

// AppendRequest appends the encoding of r to b.
func AppendRequest(b []byte, r *Request) []byte {
	b = appendU32(b, r.Flags)
	b = appendU32(b, uint32(r.Now))
	b = appendU32(b, uint32(r.Now>>32))
	b = appendString(b, r.Method)
	b = appendString(b, r.Target)
	b = appendPairs(b, r.Facts)
	b = appendStrings(b, r.Keys)
	b = appendU32(b, uint32(len(r.Documents)))
	for i := range r.Documents {
		b = appendString(b, r.Documents[i].Key)
		b = appendU32(b, uint32(r.Documents[i].State))
		b = appendString(b, r.Documents[i].Value)
	}
	return b
}

// DecodeRequest reads a request into r, whose slices are reused. The strings of
// r share the memory of in. The error is not an interface, because one call
// through an interface makes TinyGo keep the Error of every type that has one.
func DecodeRequest(in string, r *Request) *Error {
	d := decoder{in: in}
	r.Flags = d.u32("flags")
	r.Now = uint64(d.u32("now"))
	r.Now |= uint64(d.u32("now")) << 32
	r.Method = d.string("method")
	r.Target = d.string("target")
	r.Facts = d.pairs(r.Facts[:0], "facts")
	r.Keys = d.strings(r.Keys[:0], "keys")
	r.Documents = r.Documents[:0]
	for n := d.count("documents", 12); n > 0; n-- {
		doc := Document{Key: d.string("document key")}
		doc.State = State(d.u32("document state"))
		doc.Value = d.string("document value")
		if d.err == nil && doc.State > Failed {
			d.fail("document state")
		}
		r.Documents = append(r.Documents, doc)
	}
	return d.end()
}

// AppendResponse appends the encoding of r to b.
func AppendResponse(b []byte, r *Response) []byte {
	b = appendU32(b, r.Status)
	b = appendPairs(b, r.Headers)
	b = appendU32(b, uint32(len(r.Body)))
	b = append(b, r.Body...)
	return appendPairs(b, r.Audit)
}

// DecodeResponse reads a response into r, whose slices are reused. Strings and
// body share the memory of in.
func DecodeResponse(in string, r *Response) error {
	d := decoder{in: in}
	r.Status = d.u32("status")
	r.Headers = d.pairs(r.Headers[:0], "headers")
	r.Body = append(r.Body[:0], d.string("body")...)
	r.Audit = d.pairs(r.Audit[:0], "audit")
	if err := d.end(); err != nil {
		return err
	}
	return nil
}

// AppendNeed appends the encoding of a need to b.
func AppendNeed(b []byte, keys []string) []byte { return appendStrings(b, keys) }

// DecodeNeed appends the keys of a need to keys. They share the memory of in.
func DecodeNeed(in string, keys []string) ([]string, error) {
	d := decoder{in: in}
	keys = d.strings(keys, "need")
	if err := d.end(); err != nil {
		return keys, err
	}
	return keys, nil
}

func appendU32(b []byte, v uint32) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

func appendString(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = appendU32(b, uint32(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendPairs(b []byte, pairs []Pair) []byte {
	b = appendU32(b, uint32(len(pairs)))
	for i := range pairs {
		b = appendString(appendString(b, pairs[i].Name), pairs[i].Value)
	}
	return b
}

// A decoder reads fields in order. After the first error everything reads as
// empty, so that callers check once, at the end.
type decoder struct {
	in  string
	off int
	err *Error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = &Error{what, d.off}
		d.off = len(d.in)
	}
}

func (d *decoder) end() *Error {
	if d.err == nil && d.off != len(d.in) {
		d.fail("bytes after the last field")
	}
	return d.err
}

func (d *decoder) u32(what string) uint32 {
	if len(d.in)-d.off < 4 {
		d.fail(what)
		return 0
	}
	s := d.in[d.off : d.off+4]
	d.off += 4
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func (d *decoder) string(what string) string {
	n := d.u32(what)
	if uint64(n) > uint64(len(d.in)-d.off) {
		d.fail(what)
		return ""
	}
	s := d.in[d.off : d.off+int(n)]
	d.off += int(n)
	return s
}

// count reads the length of a list whose items take at least min bytes each: a
// count that cannot be true is refused before anything is allocated for it.
func (d *decoder) count(what string, min int) int {
	n := d.u32(what)
	if uint64(n)*uint64(min) > uint64(len(d.in)-d.off) {
		d.fail(what)
		return 0
	}
	return int(n)
}

func (d *decoder) strings(list []string, what string) []string {
	for n := d.count(what, 4); n > 0; n-- {
		list = append(list, d.string(what))
	}
	return list
}

func (d *decoder) pairs(pairs []Pair, what string) []Pair {
	for n := d.count(what, 8); n > 0; n-- {
		p := Pair{Name: d.string(what)}
		p.Value = d.string(what)
		pairs = append(pairs, p)
	}
	return pairs
}
