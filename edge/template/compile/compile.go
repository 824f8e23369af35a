// Package compile turns template sources into programs, at build time. It parses
// with the standard library's own parser, checks every field, function and type
// against the schema of what a template may see, and flattens the tree. The core
// never imports it.
package compile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"stagger/edge/record"
	"stagger/edge/template"
)

// Functions lists the functions of the subset beside the standard ones: "code"
// writes a value in a vendor's own word, "has" asks a list of single words, "add"
// adds two numbers, "fail" refuses to render and says why, "as" prints a text
// through another escaper than the one of the file.
var Functions = []string{
	"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "len", "add", "code", "has", "fail", "as",
}

// Options is what a source is compiled against.
type Options struct {
	// Root describes the record that the program will run on.
	Root *record.Schema
	// Tables are the vendor's words for the function "code", by name.
	Tables map[string]map[string]string
	// Escapes are the names that the function "as" knows, in the order of the
	// program's Escapes.
	Escapes []string
}

// Compile compiles the template source. Name is the path that errors show, as
// in "vendors/yealink/mac.cfg.tmpl:12: unknown field .lines.lable". The program
// has no Escape and no Escapes yet.
func Compile(name, source string, o Options) (*template.Program, error) {
	names := map[string]any{}
	for _, f := range Functions {
		names[f] = f
	}
	trees, err := parse.Parse(name, source, "", "", names)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	c := compiler{options: o, trees: trees, text: map[string]uint16{}}
	c.program = &template.Program{Source: name[strings.LastIndexByte(name, '/')+1:], Root: o.Root}
	for _, table := range slices.Sorted(maps.Keys(o.Tables)) {
		t := template.Table{Name: table}
		for _, word := range slices.Sorted(maps.Keys(o.Tables[table])) {
			if is := o.Tables[table][word]; strings.ContainsAny(word+is, "\t\n") {
				return nil, fmt.Errorf("%s: table %s: a word has a tab or a line break", name, table)
			}
			t.Words += word + "\t" + o.Tables[table][word] + "\n"
		}
		c.program.Tables = append(c.program.Tables, t)
	}
	root := operand{kind: record.Group, of: o.Root}
	c.top, c.cells = 1, 1
	if err := c.tree(trees[name], root); err != nil {
		return nil, err
	}
	c.fuse()
	c.program.Text = c.pool.String()
	c.program.Cells = c.cells
	return c.program, nil
}

// operand is the compile-time side of a value: its type, and where it lies.
type operand struct {
	kind record.Kind
	// of is the schema of a Group, or of the items of a List.
	of *record.Schema
	// cell holds the value, unless lazy.
	cell int
	// lazy operands are field index of the record in cell, not fetched yet.
	lazy  bool
	index int
	// mixed operands come from "and" and "or" over different kinds: good for a
	// condition only.
	mixed bool
}

type variable struct {
	name  string
	value operand
	fixed bool
}

type loop struct {
	breaks, continues []int
}

type compiler struct {
	options Options
	trees   map[string]*parse.Tree
	program *template.Program
	pool    strings.Builder
	text    map[string]uint16

	current   *parse.Tree
	depth     int
	dot       operand
	variables []variable
	loops     []*loop
	// top is the next free cell, cells the most that were ever in use.
	top, cells int
}

// failure carries a build error up to the tree that it happened in.
type failure struct{ err error }

func (c *compiler) errorf(n parse.Node, format string, args ...any) {
	panic(failure{fmt.Errorf("%s: %s", c.place(n), fmt.Sprintf(format, args...))})
}

// place is file:line of a node.
func (c *compiler) place(n parse.Node) string {
	location, _ := c.current.ErrorContext(n)
	if i := strings.LastIndexByte(location, ':'); i > 0 {
		return location[:i]
	}
	return location
}

func (c *compiler) line(n parse.Node) uint16 {
	place := c.place(n)
	line, err := strconv.ParseUint(place[strings.LastIndexByte(place, ':')+1:], 10, 16)
	if err != nil {
		c.errorf(n, "the template is too long")
	}
	return uint16(line)
}

func (c *compiler) tree(t *parse.Tree, dot operand) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.err
		}
	}()
	c.inline(t, dot)
	return nil
}

// inline compiles a tree in place: the main one, or a named one that is used.
func (c *compiler) inline(t *parse.Tree, dot operand) {
	outer := *c
	c.current, c.dot, c.variables, c.loops = t, dot, []variable{{"$", dot, true}}, nil
	c.depth++
	c.list(t.Root)
	c.current, c.dot, c.variables, c.loops, c.depth = outer.current, outer.dot, outer.variables, outer.loops, outer.depth
}

func (c *compiler) emit(n parse.Node, code template.Code, a, b, d int) int {
	if a >= template.MaxCells || b > 65535 || d > 65535 {
		c.errorf(n, "the template is too large")
	}
	c.program.Ops = append(c.program.Ops, template.Op{Code: code, A: uint8(a), B: uint16(b), C: uint16(d), Line: c.line(n)})
	return len(c.program.Ops) - 1
}

// fuse makes one operation of a text and the value after it, which is most of
// what a template is.
func (c *compiler) fuse() {
	ops := c.program.Ops
	target := make([]bool, len(ops)+1)
	for i := range ops {
		if jumps(ops[i].Code) {
			target[ops[i].B] = true
		}
	}
	moved := make([]uint16, len(ops)+1)
	out := ops[:0]
	for i := 0; i < len(ops); i++ {
		moved[i] = uint16(len(out))
		op := ops[i]
		if op.Code == template.Text && i+1 < len(ops) && !target[i+1] {
			switch next := ops[i+1]; next.Code {
			case template.PrintInt:
				op.Code, op.A, op.Line = template.TextInt, next.A, next.Line
			case template.PrintField:
				op.Code, op.A, op.D, op.Line = template.TextField, next.A, next.B, next.Line
			}
			if op.Code != template.Text {
				i++
				moved[i] = uint16(len(out))
			}
		}
		out = append(out, op)
	}
	moved[len(ops)] = uint16(len(out))
	for i := range out {
		if jumps(out[i].Code) {
			out[i].B = moved[out[i].B]
		}
	}
	c.program.Ops = out
}

// jumps says whether B of an operation is the place of another one.
func jumps(code template.Code) bool {
	switch code {
	case template.Jump, template.JumpFalse, template.JumpTrue, template.JumpField, template.Range, template.Next:
		return true
	}
	return false
}

// land makes the jump at op go to the next operation.
func (c *compiler) land(n parse.Node, op int) {
	if len(c.program.Ops) > 65535 {
		c.errorf(n, "the template is too large")
	}
	c.program.Ops[op].B = uint16(len(c.program.Ops))
}

// take reserves n neighbouring cells.
func (c *compiler) take(n parse.Node, count int) int {
	cell := c.top
	c.top += count
	c.cells = max(c.cells, c.top)
	if c.cells > template.MaxCells {
		c.errorf(n, "too many variables at once")
	}
	return cell
}

// literal puts text into the pool.
func (c *compiler) literal(n parse.Node, s string) (offset, length int) {
	at, ok := c.text[s]
	if !ok {
		if c.pool.Len()+len(s) > 65535 {
			c.errorf(n, "the template has too much text")
		}
		at = uint16(c.pool.Len())
		c.text[s] = at
		c.pool.WriteString(s)
	}
	return int(at), len(s)
}

// scope runs f and gives up the variables and cells that it took.
func (c *compiler) scope(f func()) {
	top, variables, dot := c.top, len(c.variables), c.dot
	f()
	c.top, c.variables, c.dot = top, c.variables[:variables], dot
}

func (c *compiler) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		c.node(n)
	}
}

func (c *compiler) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.TextNode:
		offset, length := c.literal(n, string(n.Text))
		c.emit(n, template.Text, 0, offset, length)
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			c.declare(n.Pipe)
			return
		}
		c.scope(func() {
			commands := n.Pipe.Cmds
			end := len(commands) - 1
			if f, ok := commands[end].Args[0].(*parse.IdentifierNode); ok && f.Ident == "as" {
				c.printAs(f, commands[end].Args[1:], c.commands(commands[:end]))
				return
			}
			c.print(n, c.pipe(n.Pipe))
		})
	case *parse.IfNode:
		c.scope(func() {
			value := c.declare(n.Pipe)
			c.branch(n, value, func() { c.scope(func() { c.list(n.List) }) }, n.ElseList)
		})
	case *parse.WithNode:
		c.scope(func() {
			value := c.fetch(n, c.declare(n.Pipe))
			dot := c.dot
			c.branch(n, value, func() {
				c.dot = value
				c.scope(func() { c.list(n.List) })
				c.dot = dot
			}, n.ElseList)
		})
	case *parse.RangeNode:
		c.scope(func() { c.loop(n) })
	case *parse.BreakNode:
		l := c.loops[len(c.loops)-1]
		l.breaks = append(l.breaks, c.emit(n, template.Jump, 0, 0, 0))
	case *parse.ContinueNode:
		l := c.loops[len(c.loops)-1]
		l.continues = append(l.continues, c.emit(n, template.Jump, 0, 0, 0))
	case *parse.TemplateNode:
		c.scope(func() {
			t := c.trees[n.Name]
			if t == nil {
				c.errorf(n, "no template is named %q", n.Name)
			}
			if c.depth > 8 {
				c.errorf(n, "templates use each other without end")
			}
			if n.Pipe == nil {
				c.errorf(n, "template %q is used without a value; write {{template %q .}}", n.Name, n.Name)
			}
			c.inline(t, c.fetch(n, c.pipe(n.Pipe)))
		})
	case *parse.CommentNode:
	default:
		c.errorf(n, "this action is not part of the subset")
	}
}

// branch compiles a condition and its two sides.
func (c *compiler) branch(n parse.Node, condition operand, then func(), otherwise *parse.ListNode) {
	skip := 0
	if condition.lazy {
		skip = c.emit(n, template.JumpField, condition.cell, 0, condition.index)
	} else {
		skip = c.emit(n, template.JumpFalse, condition.cell, 0, 0)
	}
	then()
	if otherwise != nil {
		end := c.emit(n, template.Jump, 0, 0, 0)
		c.land(n, skip)
		c.scope(func() { c.list(otherwise) })
		c.land(n, end)
		return
	}
	c.land(n, skip)
}

func (c *compiler) loop(n *parse.RangeNode) {
	if n.Pipe.IsAssign {
		c.errorf(n, "a range cannot assign; declare its variables with :=")
	}
	list := c.pipe(n.Pipe)
	if list.kind != record.List && list.kind != record.Map || list.mixed {
		c.errorf(n, "range needs a list, and this is %s", describe(list))
	}
	list = c.fetch(n, list)
	state := c.take(n, 2)
	c.emit(n, template.Copy, state, list.cell, 0)
	item := operand{kind: record.Group, of: list.of, cell: c.take(n, 1)}
	position := state
	variables := len(c.variables)
	switch decl := n.Pipe.Decl; len(decl) {
	case 1:
		c.variables = append(c.variables, variable{decl[0].Ident[0], item, true})
	case 2:
		position = c.take(n, 1)
		c.variables = append(c.variables,
			variable{decl[0].Ident[0], operand{kind: record.Int, cell: position}, true},
			variable{decl[1].Ident[0], item, true})
	}
	dot := c.dot
	c.dot = item
	l := &loop{}
	c.loops = append(c.loops, l)
	empty := c.emit(n, template.Range, state, 0, 0)
	body := c.emit(n, template.Item, state, item.cell, position)
	c.scope(func() { c.list(n.List) })
	for _, op := range l.continues {
		c.land(n, op)
	}
	c.emit(n, template.Next, state, body, 0)
	c.loops = c.loops[:len(c.loops)-1]
	c.dot, c.variables = dot, c.variables[:variables]
	if n.ElseList != nil {
		end := c.emit(n, template.Jump, 0, 0, 0)
		c.land(n, empty)
		c.scope(func() { c.list(n.ElseList) })
		c.land(n, end)
	} else {
		c.land(n, empty)
	}
	for _, op := range l.breaks {
		c.land(n, op)
	}
}

func (c *compiler) print(n parse.Node, v operand) {
	switch {
	case v.mixed:
		c.errorf(n, "the values of this and/or have different types, so that it cannot be printed")
	case v.kind == record.String && v.lazy:
		c.emit(n, template.PrintField, v.cell, v.index, 0)
		return
	case v.kind == record.Int && v.lazy:
		c.emit(n, template.PrintFieldInt, v.cell, v.index, 0)
		return
	}
	v = c.fetch(n, v)
	switch v.kind {
	case record.String:
		c.emit(n, template.Print, v.cell, 0, 0)
	case record.Int:
		c.emit(n, template.PrintInt, v.cell, 0, 0)
	case record.Bool:
		c.emit(n, template.PrintBool, v.cell, 0, 0)
	default:
		c.errorf(n, "%s cannot be printed", describe(v))
	}
}

// printAs prints a text through the escaper that is named; last is what is piped
// into it. A value has no escaper of its own, so that this is the only place where
// "as" can stand.
func (c *compiler) printAs(f *parse.IdentifierNode, args []parse.Node, last *operand) {
	if last == nil && len(args) == 2 {
		v := c.value(args[1])
		last, args = &v, args[:1]
	}
	if last == nil || len(args) != 1 {
		c.errorf(f, "as needs the name of an escaper in quotes, and a text")
	}
	name, ok := args[0].(*parse.StringNode)
	if !ok {
		c.errorf(f, "as needs the name of an escaper in quotes, and a text")
	}
	escaper := slices.Index(c.options.Escapes, name.Text)
	if escaper < 0 {
		c.errorf(f, "the syntax has no escaper %q", name.Text)
	}
	if last.kind != record.String || last.mixed {
		c.errorf(f, "what as prints is %s", describe(*last))
	}
	c.emit(f, template.PrintAs, c.fetch(f, *last).cell, escaper, 0)
}

// fetch makes sure that the value is in a cell of its own.
func (c *compiler) fetch(n parse.Node, v operand) operand {
	if !v.lazy {
		return v
	}
	cell := c.take(n, 1)
	c.emit(n, template.Field, cell, v.cell, v.index)
	v.cell, v.lazy = cell, false
	return v
}

// declare evaluates a pipeline and binds the variable that it declares or
// assigns, if any.
func (c *compiler) declare(p *parse.PipeNode) operand {
	if len(p.Decl) == 0 {
		return c.pipe(p)
	}
	cell := 0
	if !p.IsAssign {
		cell = c.take(p, 1)
	}
	// The cells that it takes to work the value out are free again behind it.
	top := c.top
	defer func() { c.top = top }()
	value, name := c.pipe(p), p.Decl[0].Ident[0]
	if value.mixed {
		c.errorf(p, "the values of this and/or have different types, so that no variable can hold it")
	}
	value = c.fetch(p, value)
	if p.IsAssign {
		v := c.variable(p, name)
		if v.fixed {
			c.errorf(p, "%s cannot be assigned", name)
		}
		if v.value.kind != value.kind || v.value.of != value.of {
			c.errorf(p, "%s is %s and cannot become %s", name, describe(v.value), describe(value))
		}
		c.emit(p, template.Copy, v.value.cell, value.cell, 0)
		return v.value
	}
	// A copy: the cell may belong to another variable, which may be assigned.
	c.emit(p, template.Copy, cell, value.cell, 0)
	value.cell = cell
	c.variables = append(c.variables, variable{name: name, value: value})
	return value
}

func (c *compiler) variable(n parse.Node, name string) *variable {
	for i := len(c.variables) - 1; i >= 0; i-- {
		if c.variables[i].name == name {
			return &c.variables[i]
		}
	}
	c.errorf(n, "undefined variable %s", name)
	return nil
}

func (c *compiler) pipe(p *parse.PipeNode) operand { return *c.commands(p.Cmds) }

// commands compiles commands that are piped into each other; no commands have no
// value.
func (c *compiler) commands(list []*parse.CommandNode) (value *operand) {
	for _, command := range list {
		v := c.command(command, value)
		value = &v
	}
	return value
}

// command compiles one command of a pipeline; last is the value piped into it.
func (c *compiler) command(n *parse.CommandNode, last *operand) operand {
	if f, ok := n.Args[0].(*parse.IdentifierNode); ok {
		return c.call(f, n.Args[1:], last)
	}
	if len(n.Args) > 1 || last != nil {
		c.errorf(n, "%s is no function", n.Args[0])
	}
	return c.value(n.Args[0])
}

// value compiles one argument.
func (c *compiler) value(n parse.Node) operand {
	switch n := n.(type) {
	case *parse.DotNode:
		return c.single(c.dot)
	case *parse.FieldNode:
		return c.fields(n, c.dot, n.Ident)
	case *parse.VariableNode:
		return c.fields(n, c.variable(n, n.Ident[0]).value, n.Ident[1:])
	case *parse.ChainNode:
		return c.fields(n, c.value(n.Node), n.Field)
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			c.errorf(n, "a variable cannot be declared here")
		}
		return c.pipe(n)
	case *parse.IdentifierNode:
		return c.call(n, nil, nil)
	case *parse.StringNode:
		cell := c.take(n, 1)
		offset, length := c.literal(n, n.Text)
		c.emit(n, template.LoadText, cell, offset, length)
		return operand{kind: record.String, cell: cell}
	case *parse.NumberNode:
		// Digits alone: to the standard library ".0" and "1e3" are no whole numbers.
		if !n.IsInt || n.Int64 < 0 || n.Int64 > 1<<32-1 || strings.Trim(n.Text, "0123456789") != "" {
			c.errorf(n, "%s is not a whole number from 0 to 4294967295", n.Text)
		}
		cell := c.take(n, 1)
		c.emit(n, template.LoadInt, cell, int(n.Int64&0xffff), int(n.Int64>>16))
		return operand{kind: record.Int, cell: cell}
	case *parse.BoolNode:
		cell, truth := c.take(n, 1), 0
		if n.True {
			truth = 1
		}
		c.emit(n, template.LoadBool, cell, truth, 0)
		return operand{kind: record.Bool, cell: cell}
	}
	c.errorf(n, "%s is not part of the subset", n)
	return operand{}
}

// single reads the bare value out of an item of a list of bare values.
func (c *compiler) single(v operand) operand {
	if v.kind == record.Group && v.of.Single {
		return operand{kind: v.of.Fields[0].Kind, of: v.of.Fields[0].Of, cell: v.cell, lazy: true}
	}
	return v
}

func (c *compiler) fields(n parse.Node, v operand, names []string) operand {
	for i, name := range names {
		path := "." + strings.Join(names[:i+1], ".")
		if v.kind != record.Group || v.mixed || v.of.Single {
			c.errorf(n, "unknown field %s: %s has no fields", path, describe(v))
		}
		index := v.of.Index(name)
		if index < 0 || v.of.Fields[index].Hidden {
			c.errorf(n, "unknown field %s (of %s)", path, v.of.Name)
		}
		v = c.fetch(n, v)
		f := &v.of.Fields[index]
		v = operand{kind: f.Kind, of: f.Of, cell: v.cell, lazy: true, index: index}
	}
	if len(names) == 0 {
		return c.single(v)
	}
	return v
}

func (c *compiler) call(f *parse.IdentifierNode, args []parse.Node, last *operand) operand {
	count := len(args)
	if last != nil {
		count++
	}
	// arg compiles argument i where it is needed: "and" and "or" stop early.
	arg := func(i int) operand {
		if i == len(args) {
			return *last
		}
		return c.value(args[i])
	}
	need := func(least, most int) {
		if count < least || count > most {
			c.errorf(f, "%s has %d arguments", f.Ident, count)
		}
	}
	typed := func(i int, kind record.Kind) operand {
		v := arg(i)
		if v.kind != kind || v.mixed {
			c.errorf(f, "argument %d of %s is %s", i+1, f.Ident, describe(v))
		}
		return c.fetch(f, v)
	}
	boolean := operand{kind: record.Bool}
	switch f.Ident {
	case "and", "or":
		need(1, 64)
		jump := template.JumpFalse
		if f.Ident == "or" {
			jump = template.JumpTrue
		}
		result := operand{cell: c.take(f, 1)}
		var ends []int
		for i := range count {
			v := c.fetch(f, arg(i))
			if i == 0 {
				result.kind, result.of = v.kind, v.of
			} else if v.kind != result.kind || v.of != result.of {
				result.mixed = true
			}
			result.mixed = result.mixed || v.mixed
			c.emit(f, template.Copy, result.cell, v.cell, 0)
			if i < count-1 {
				ends = append(ends, c.emit(f, jump, result.cell, 0, 0))
			}
		}
		for _, op := range ends {
			c.land(f, op)
		}
		return result
	case "not":
		need(1, 1)
		v := c.fetch(f, arg(0))
		boolean.cell = c.take(f, 1)
		c.emit(f, template.Not, boolean.cell, v.cell, 0)
		return boolean
	case "eq", "ne":
		most := 64
		if f.Ident == "ne" {
			most = 2
		}
		need(2, most)
		first := c.fetch(f, arg(0))
		equal := template.EqualInt
		switch {
		case first.mixed || first.kind != record.String && first.kind != record.Int && first.kind != record.Bool:
			c.errorf(f, "argument 1 of %s is %s", f.Ident, describe(first))
		case first.kind == record.String:
			equal = template.Equal
		}
		boolean.cell = c.take(f, 1)
		var ends []int
		for i := 1; i < count; i++ {
			v := typed(i, first.kind)
			c.emit(f, equal, boolean.cell, first.cell, v.cell)
			if i < count-1 {
				ends = append(ends, c.emit(f, template.JumpTrue, boolean.cell, 0, 0))
			}
		}
		for _, op := range ends {
			c.land(f, op)
		}
		if f.Ident == "ne" {
			c.emit(f, template.Not, boolean.cell, boolean.cell, 0)
		}
		return boolean
	case "lt", "le", "gt", "ge":
		need(2, 2)
		a, b := typed(0, record.Int), typed(1, record.Int)
		boolean.cell = c.take(f, 1)
		if f.Ident == "gt" || f.Ident == "le" {
			a, b = b, a
		}
		c.emit(f, template.Less, boolean.cell, a.cell, b.cell)
		if f.Ident == "le" || f.Ident == "ge" {
			c.emit(f, template.Not, boolean.cell, boolean.cell, 0)
		}
		return boolean
	case "add":
		need(2, 2)
		a, b := typed(0, record.Int), typed(1, record.Int)
		sum := operand{kind: record.Int, cell: c.take(f, 1)}
		c.emit(f, template.Add, sum.cell, a.cell, b.cell)
		return sum
	case "len":
		need(1, 1)
		v := arg(0)
		if v.mixed || v.kind != record.List && v.kind != record.Map && v.kind != record.String {
			c.errorf(f, "argument 1 of len is %s", describe(v))
		}
		v = c.fetch(f, v)
		length := operand{kind: record.Int, cell: c.take(f, 1)}
		c.emit(f, template.Len, length.cell, v.cell, 0)
		return length
	case "code":
		need(2, 2)
		if len(args) == 0 {
			c.errorf(f, "code needs the name of a table in quotes")
		}
		name, ok := args[0].(*parse.StringNode)
		if !ok {
			c.errorf(f, "code needs the name of a table in quotes")
		}
		table := slices.IndexFunc(c.program.Tables, func(t template.Table) bool { return t.Name == name.Text })
		if table < 0 {
			c.errorf(f, "the pack has no table %q", name.Text)
		}
		lookup, word := template.Lookup, arg(1)
		switch {
		case word.kind == record.Int && !word.mixed:
			lookup = template.LookupInt
		case word.kind != record.String || word.mixed:
			c.errorf(f, "argument 2 of code is %s", describe(word))
		}
		word = c.fetch(f, word)
		is := operand{kind: record.String, cell: c.take(f, 1)}
		c.emit(f, lookup, is.cell, word.cell, table)
		return is
	case "fail":
		need(1, 1)
		var why *parse.StringNode
		if len(args) == 1 {
			why, _ = args[0].(*parse.StringNode)
		}
		if why == nil {
			c.errorf(f, "fail needs its reason in quotes")
		}
		offset, length := c.literal(f, why.Text)
		c.emit(f, template.Fail, 0, offset, length)
		// It never returns; as far as types go it is a text.
		return operand{kind: record.String, cell: c.take(f, 1)}
	case "as":
		c.errorf(f, "as is the last thing that happens to a value, when it is printed")
	case "has":
		need(2, 2)
		list := arg(0)
		if list.kind != record.List || list.mixed || !list.of.Single {
			c.errorf(f, "argument 1 of has is %s", describe(list))
		}
		list = c.fetch(f, list)
		word := typed(1, record.String)
		boolean.cell = c.take(f, 1)
		c.emit(f, template.Has, boolean.cell, list.cell, word.cell)
		return boolean
	}
	c.errorf(f, "function %q is not part of the subset", f.Ident)
	return operand{}
}

func describe(v operand) string {
	if v.mixed {
		return "one of several types"
	}
	switch v.kind {
	case record.String:
		return "a text"
	case record.Int:
		return "a number"
	case record.Bool:
		return "true or false"
	case record.List, record.Map:
		return "a list of " + v.of.Name
	}
	return "a " + v.of.Name
}
