package template

import (
	"strconv"

	"stagger/edge/record"
)

// Error says where a run stopped and what for. It never holds a value.
type Error struct {
	Source string
	Line   int
	What   string
}

func (e *Error) Error() string {
	return e.Source + ":" + strconv.Itoa(e.Line) + ": " + e.What
}

const (
	notSet   = "a value that is printed is not set"
	tooLarge = "the file grows beyond its limit"
)

// MaxOutput bounds a rendered file in bytes.
const MaxOutput = 512 << 10

// Run appends the output of the program on root to b. When it fails, the bytes
// that were appended so far are of no use: a file is whole or it is not.
func (p *Program) Run(b []byte, root record.Record) ([]byte, *Error) {
	var cells [MaxCells]record.Value
	top := [1]record.Record{root}
	cells[0] = record.Value{Set: true, List: top[:]}
	for i := 0; i < len(p.Ops); i++ {
		op := &p.Ops[i]
		switch op.Code {
		case Text:
			b = appendText(b, p.Text[op.B:uint32(op.B)+uint32(op.C)])
			if len(b) > MaxOutput {
				return b, p.fail(op, tooLarge)
			}
		case TextField:
			b = appendText(b, p.Text[op.B:uint32(op.B)+uint32(op.C)])
			from := cells[op.A].List
			if len(from) == 0 || !from[0][op.D].Set {
				return b, p.fail(op, notSet)
			}
			var bad string
			if b, bad = p.Escape(b, from[0][op.D].Str); bad != "" {
				return b, p.fail(op, bad)
			}
			if len(b) > MaxOutput {
				return b, p.fail(op, tooLarge)
			}
		case TextInt:
			b = appendText(b, p.Text[op.B:uint32(op.B)+uint32(op.C)])
			if !cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			b = appendInt(b, cells[op.A].Num)
			if len(b) > MaxOutput {
				return b, p.fail(op, tooLarge)
			}
		case PrintField:
			from := cells[op.A].List
			if len(from) == 0 || !from[0][op.B].Set {
				return b, p.fail(op, notSet)
			}
			var bad string
			if b, bad = p.Escape(b, from[0][op.B].Str); bad != "" {
				return b, p.fail(op, bad)
			}
		case PrintFieldInt:
			from := cells[op.A].List
			if len(from) == 0 || !from[0][op.B].Set {
				return b, p.fail(op, notSet)
			}
			b = appendInt(b, from[0][op.B].Num)
		case Print:
			if !cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			var bad string
			if b, bad = p.Escape(b, cells[op.A].Str); bad != "" {
				return b, p.fail(op, bad)
			}
		case PrintInt:
			if !cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			b = appendInt(b, cells[op.A].Num)
		case PrintBool:
			if !cells[op.A].Set {
				return b, p.fail(op, notSet)
			}
			if cells[op.A].Num != 0 {
				b = append(b, "true"...)
			} else {
				b = append(b, "false"...)
			}
		case Field:
			// A group that is not set has no record; its fields are not set.
			if from := cells[op.B].List; len(from) > 0 {
				cells[op.A] = from[0][op.C]
			} else {
				cells[op.A] = record.Value{}
			}
		case Copy:
			cells[op.A] = cells[op.B]
		case LoadText:
			cells[op.A] = record.Text(p.Text[op.B : uint32(op.B)+uint32(op.C)])
		case LoadInt:
			cells[op.A] = record.Number(int64(op.B) | int64(op.C)<<16)
		case LoadBool:
			cells[op.A] = record.Value{Set: true, Num: int64(op.B)}
		case Jump:
			i = int(op.B) - 1
		case JumpFalse:
			if !cells[op.A].True() {
				i = int(op.B) - 1
			}
		case JumpTrue:
			if cells[op.A].True() {
				i = int(op.B) - 1
			}
		case JumpField:
			if from := cells[op.A].List; len(from) == 0 || !from[0][op.C].True() {
				i = int(op.B) - 1
			}
		case Range:
			cells[op.A+1] = record.Number(0)
			if len(cells[op.A].List) == 0 {
				i = int(op.B) - 1
			}
		case Item:
			at := cells[op.A+1].Num
			if op.C != uint16(op.A) {
				cells[op.C] = record.Number(at)
			}
			cells[op.B] = record.Value{Set: true, List: cells[op.A].List[at : at+1]}
		case Next:
			cells[op.A+1].Num++
			if cells[op.A+1].Num < int64(len(cells[op.A].List)) {
				i = int(op.B) - 1
			}
		case Not:
			cells[op.A] = record.Truth(!cells[op.B].True())
		case Equal:
			x, y := &cells[op.B], &cells[op.C]
			cells[op.A] = record.Truth(x.Set == y.Set && x.Str == y.Str)
		case EqualInt:
			x, y := &cells[op.B], &cells[op.C]
			cells[op.A] = record.Truth(x.Set == y.Set && x.Num == y.Num)
		case Less:
			if !cells[op.B].Set || !cells[op.C].Set {
				return b, p.fail(op, "a value that is compared is not set")
			}
			cells[op.A] = record.Truth(cells[op.B].Num < cells[op.C].Num)
		case Add:
			if !cells[op.B].Set || !cells[op.C].Set {
				return b, p.fail(op, "a value that is added is not set")
			}
			cells[op.A] = record.Number(cells[op.B].Num + cells[op.C].Num)
		case Len:
			v := &cells[op.B]
			if !v.Set {
				return b, p.fail(op, "a value whose length is asked is not set")
			}
			cells[op.A] = record.Number(int64(len(v.List) + len(v.Str)))
		case Lookup:
			table := &p.Tables[op.C]
			if !cells[op.B].Set {
				return b, p.fail(op, "a value that is looked up is not set")
			}
			is, ok := table.Find(cells[op.B].Str)
			if !ok {
				return b, p.fail(op, "the phone has no "+table.Name+" for this value")
			}
			cells[op.A] = record.Text(is)
		case Fail:
			return b, p.fail(op, p.Text[op.B:uint32(op.B)+uint32(op.C)])
		case Has:
			if !cells[op.C].Set {
				return b, p.fail(op, "a value that is looked for is not set")
			}
			found := false
			for _, item := range cells[op.B].List {
				found = found || item[0].Str == cells[op.C].Str
			}
			cells[op.A] = record.Truth(found)
		}
	}
	return b, nil
}

func (p *Program) fail(op *Op, what string) *Error {
	return &Error{p.Source, int(op.Line), what}
}

func appendInt(b []byte, n int64) []byte {
	if n < 0 {
		return strconv.AppendInt(b, n, 10)
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
