// Package template runs templates that were compiled when the module was built.
// Sources are written in a subset of Go's own template language; package compile
// checks them against the schema of what a template may see and flattens them to
// a Program. This package owns the running: no parsing, no reflection, no fmt.
// The standard library's text/template is the reference for what a template
// means.
package template

import "stagger/edge/record"

// Code is the operation of an Op.
type Code uint8

// Operations. Cells are the variables and temporaries of a run; every one has a
// type that the compiler knows, so nothing is checked twice here.
const (
	Text          Code = iota + 1 // write Text[B:B+C]
	Print                         // write cell A, a string, through the escaper
	PrintInt                      // write cell A, a number
	PrintBool                     // write cell A, "true" or "false"
	PrintField                    // write string field B of the record in cell A
	PrintFieldInt                 // write number field B of the record in cell A
	TextInt                       // write Text[B:B+C], then cell A, a number
	TextField                     // write Text[B:B+C], then string field D of the record in cell A
	Field                         // cell A = field C of the record in cell B
	Copy                          // cell A = cell B
	LoadText                      // cell A = Text[B:B+C]
	LoadInt                       // cell A = B | C<<16
	LoadBool                      // cell A = B is 1
	Jump                          // go to B
	JumpFalse                     // go to B unless cell A is true
	JumpTrue                      // go to B if cell A is true
	JumpField                     // go to B unless field C of the record in cell A is true
	Range                         // start: cell A is a list, cell A+1 its position; go to B if it is empty
	Item                          // cell B = the item at the position of cell A+1, cell C = the position, unless C is A
	Next                          // step the position of cell A+1; go to B if there is another item
	Not                           // cell A = not cell B
	Equal                         // cell A = cell B and C, both strings, are equal
	EqualInt                      // cell A = cell B and C, both numbers or booleans, are equal
	Less                          // cell A = number in cell B < number in C
	Add                           // cell A = number in cell B + number in C
	Len                           // cell A = items of the list, or bytes of the string, in cell B
	Lookup                        // cell A = what table C has for the string in cell B
	LookupInt                     // cell A = what table C has for the number in cell B
	Fail                          // stop: Text[B:B+C] says why
	Has                           // cell A = the list in cell B has an item whose first field is the string in cell C
	PrintAs                       // write cell A, a string, through Escapes[B]
)

// Op is one operation. Line is the line of the source.
type Op struct {
	Code    Code
	A       uint8
	B, C, D uint16
	Line    uint16
}

// Table is a vendor's words for ours. It is one text, because a table of strings
// would take twice the room in the module.
type Table struct {
	Name string
	// Words has a line for each word, sorted: the word, a tab, and what the vendor
	// writes for it.
	Words string
}

// Find returns what the table has for the word.
func (t *Table) Find(word string) (string, bool) {
	low, high := 0, len(t.Words)
	for low < high {
		// The line in the middle.
		start := (low + high) / 2
		for start > low && t.Words[start-1] != '\n' {
			start--
		}
		tab := start
		for t.Words[tab] != '\t' {
			tab++
		}
		end := tab
		for t.Words[end] != '\n' {
			end++
		}
		switch found := t.Words[start:tab]; {
		case found == word:
			return t.Words[tab+1 : end], true
		case found < word:
			low = end + 1
		default:
			high = start
		}
	}
	return "", false
}

// Escape appends a value to a file, in the syntax of the file. When the syntax
// cannot carry the value the text says why, and b is returned as it was.
type Escape func(b []byte, value string) (out []byte, refusal string)

// Check looks at a finished file for what no single value shows. The text is what is
// wrong with the line, counted from 1, or with the whole file where line is 0; it is ""
// when nothing is.
type Check func(file []byte) (line int, what string)

// Program is a compiled template.
type Program struct {
	// Source is the file that it was compiled from.
	Source string
	Ops    []Op
	// Text has all literal text, one piece after the other.
	Text   string
	Tables []Table
	// Cells is how many cells a run needs.
	Cells  int
	Escape Escape
	// Escapes are the syntax's escapers for places with rules of their own. Empty
	// where the template has no such place.
	Escapes []Escape
	// Check, unless nil, has the last word on a file.
	Check Check
	// Root is the schema of the record that Run takes.
	Root *record.Schema
}

// MaxCells bounds Program.Cells.
const MaxCells = 48
