package template

import (
	"strconv"

	"stagger/edge/record"
)

// Error says where a run stopped and what for. It never holds a value. Line 0 is the
// finished file.
type Error struct {
	Source string
	Line   int
	What   string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Source + ": " + e.What
	}
	return e.Source + ":" + strconv.Itoa(e.Line) + ": " + e.What
}

const (
	notSet   = "a value that is printed is not set"
	tooLarge = "the file grows beyond its limit"
)

// MaxOutput bounds a rendered file in bytes.
const MaxOutput = 512 << 10

// unset is what a field of a group has that is not set itself.
var unset record.Value

// Machine is what a run works in. It is reused from run to run. A cell points to a
// value of the record, so that fetching a field copies nothing, or to its own
// place in made.
type Machine struct {
	cells [MaxCells]*record.Value
	made  [MaxCells]record.Value
	root  [1]record.Record
}

// Forget drops what the last run left.
func (m *Machine) Forget() { *m = Machine{} }

func (m *Machine) set(cell uint8, v record.Value) {
	m.made[cell] = v
	m.cells[cell] = &m.made[cell]
}

// Run appends the output of the program on root to b. When it fails, the bytes
// that were appended so far are of no use: a file is whole or it is not.
func (m *Machine) Run(p *Program, b []byte, root record.Record) ([]byte, *Error) {
	start := len(b)
	m.root[0] = root
	m.set(0, record.Value{Set: true, List: m.root[:]})
	// In variables: the compiler cannot know that no operation changes them.
	ops, text, escape := p.Ops, p.Text, p.Escape
	for i := 0; i < len(ops); i++ {
		op := &ops[i]
		switch op.Code {
		case Text:
			b = appendText(b, text[op.B:uint32(op.B)+uint32(op.C)])
			if len(b) > MaxOutput {
				return b, p.fail(op, tooLarge)
			}
		case TextField, PrintField:
			index := op.B
			if op.Code == TextField {
				b = appendText(b, text[op.B:uint32(op.B)+uint32(op.C)])
				index = op.D
			}
			v := field(m.cells[op.A], index)
			if !v.Set {
				return b, p.fail(op, notSet)
			}
			var bad string
			if b, bad = escape(b, v.Str); bad != "" {
				return b, p.fail(op, bad)
			}
			if len(b) > MaxOutput {
				return b, p.fail(op, tooLarge)
			}
		case TextInt, PrintInt:
			if op.Code == TextInt {
				b = appendText(b, text[op.B:uint32(op.B)+uint32(op.C)])
			}
			if !m.cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			b = appendInt(b, m.cells[op.A].Num)
			if len(b) > MaxOutput {
				return b, p.fail(op, tooLarge)
			}
		case PrintFieldInt:
			v := field(m.cells[op.A], op.B)
			if !v.Set {
				return b, p.fail(op, notSet)
			}
			b = appendInt(b, v.Num)
		case Print, PrintAs:
			if !m.cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			write := escape
			if op.Code == PrintAs {
				write = p.Escapes[op.B]
			}
			var bad string
			if b, bad = write(b, m.cells[op.A].Str); bad != "" {
				return b, p.fail(op, bad)
			}
		case PrintBool:
			if !m.cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			if m.cells[op.A].Num != 0 {
				b = append(b, "true"...)
			} else {
				b = append(b, "false"...)
			}
		case Field:
			m.cells[op.A] = field(m.cells[op.B], op.C)
		case Copy:
			m.set(op.A, *m.cells[op.B])
		case LoadText:
			m.set(op.A, record.Text(text[op.B:uint32(op.B)+uint32(op.C)]))
		case LoadInt:
			m.set(op.A, record.Number(int64(op.B)|int64(op.C)<<16))
		case LoadBool:
			m.set(op.A, record.Truth(op.B == 1))
		case Jump:
			i = int(op.B) - 1
		case JumpFalse:
			if !m.cells[op.A].True() {
				i = int(op.B) - 1
			}
		case JumpTrue:
			if m.cells[op.A].True() {
				i = int(op.B) - 1
			}
		case JumpField:
			if !field(m.cells[op.A], op.C).True() {
				i = int(op.B) - 1
			}
		case Range:
			m.set(op.A+1, record.Number(0))
			if len(m.cells[op.A].List) == 0 {
				i = int(op.B) - 1
			}
		case Item:
			at := m.made[op.A+1].Num
			if op.C != uint16(op.A) {
				m.set(uint8(op.C), record.Number(at))
			}
			m.set(uint8(op.B), record.Value{Set: true, List: m.cells[op.A].List[at : at+1]})
		case Next:
			m.made[op.A+1].Num++
			if m.made[op.A+1].Num < int64(len(m.cells[op.A].List)) {
				i = int(op.B) - 1
			}
		case Not:
			m.set(op.A, record.Truth(!m.cells[op.B].True()))
		case Equal:
			x, y := m.cells[op.B], m.cells[op.C]
			m.set(op.A, record.Truth(x.Set == y.Set && x.Str == y.Str))
		case EqualInt:
			x, y := m.cells[op.B], m.cells[op.C]
			m.set(op.A, record.Truth(x.Set == y.Set && x.Num == y.Num))
		case Less:
			x, y := m.cells[op.B], m.cells[op.C]
			if !x.Set || !y.Set {
				return b, p.fail(op, "a value that is compared is not set")
			}
			m.set(op.A, record.Truth(x.Num < y.Num))
		case Add:
			x, y := m.cells[op.B], m.cells[op.C]
			if !x.Set || !y.Set {
				return b, p.fail(op, "a value that is added is not set")
			}
			m.set(op.A, record.Number(x.Num+y.Num))
		case Len:
			v := m.cells[op.B]
			if !v.Set {
				return b, p.fail(op, "a value whose length is asked is not set")
			}
			m.set(op.A, record.Number(int64(len(v.List)+len(v.Str))))
		case Lookup:
			if !m.cells[op.B].Set {
				return b, p.fail(op, "a value that is looked up is not set")
			}
			table := &p.Tables[op.C]
			is, ok := table.Find(m.cells[op.B].Str)
			if !ok {
				return b, p.fail(op, "the phone has no "+table.Name+" for this value")
			}
			m.set(op.A, record.Text(is))
		case LookupInt:
			if !m.cells[op.B].Set {
				return b, p.fail(op, "a value that is looked up is not set")
			}
			table := &p.Tables[op.C]
			var digits [20]byte
			number := appendInt(digits[:0], m.cells[op.B].Num)
			is, ok := table.Find(string(number))
			if !ok {
				return b, p.fail(op, "the phone has no "+table.Name+" for this value")
			}
			m.set(op.A, record.Text(is))
		case Fail:
			return b, p.fail(op, text[op.B:uint32(op.B)+uint32(op.C)])
		case Has:
			word := m.cells[op.C]
			if !word.Set {
				return b, p.fail(op, "a value that is looked for is not set")
			}
			found := false
			for _, item := range m.cells[op.B].List {
				found = found || item[0].Str == word.Str
			}
			m.set(op.A, record.Truth(found))
		}
	}
	if p.Check != nil {
		if line, what := p.Check(b[start:]); what != "" {
			if line > 0 {
				what = "line " + strconv.Itoa(line) + " " + what
			}
			return b, &Error{p.Source, 0, "the file: " + what}
		}
	}
	return b, nil
}

// field is a field of the record in a cell. A group that is not set has no
// record, and its fields are not set.
func field(group *record.Value, index uint16) *record.Value {
	if len(group.List) == 0 {
		return &unset
	}
	return &group.List[0][index]
}

func (p *Program) fail(op *Op, what string) *Error {
	return &Error{p.Source, int(op.Line), what}
}

func appendInt(b []byte, n int64) []byte {
	if n < 0 {
		return strconv.AppendInt(b, n, 10)
	}
	if n < 10 {
		return append(b, byte('0'+n))
	}
	if n < 100 {
		return append(b, byte('0'+n/10), byte('0'+n%10))
	}
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return append(b, digits[i:]...)
		}
	}
}
