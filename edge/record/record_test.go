package record

import (
	"math/rand/v2"
	"testing"
)

func TestIndex(t *testing.T) {
	s := &Schema{Fields: []Field{{Name: "a"}, {Name: "b"}}}
	for name, want := range map[string]int{"a": 0, "b": 1, "c": -1, "A": -1} {
		if got := s.Index(name); got != want {
			t.Errorf("Index(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestTrue(t *testing.T) {
	for _, c := range []struct {
		name  string
		value Value
		want  bool
	}{
		{"unset", Value{}, false},
		{"text", Text("x"), true},
		{"empty text", Text(""), false},
		{"number", Number(-1), true},
		{"zero", Number(0), false},
		{"true", Truth(true), true},
		{"false", Truth(false), false},
		{"list", Value{Set: true, List: make([]Record, 1)}, true},
		{"empty list", Value{Set: true}, false},
	} {
		if got := c.value.True(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.value.Set != (c.name != "unset") {
			t.Errorf("%s: set is %v", c.name, c.value.Set)
		}
	}
}

// drawn is what a test took from an arena, and the number that it wrote all over.
type drawn struct {
	mark   int64
	record Record
	list   []Record
}

func (d *drawn) write() {
	for i := range d.record {
		d.record[i] = Value{Set: true, Num: d.mark}
	}
	for len(d.list) < cap(d.list) {
		d.list = append(d.list, Record{{Num: d.mark}})
	}
}

func (d *drawn) intact() bool {
	for i := range d.record {
		if d.record[i].Num != d.mark {
			return false
		}
	}
	for _, r := range d.list {
		if r[0].Num != d.mark {
			return false
		}
	}
	return true
}

// Whatever is drawn in whatever order, nothing overlaps, also while the arena
// grows and when a list is appended to beyond its room; and after Reset all of
// it is empty again.
func TestArena(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		a := NewArena(random.IntN(64))
		for range 3 {
			var taken []*drawn
			for i := range random.IntN(200) {
				d := &drawn{mark: int64(i + 1)}
				if n := random.IntN(30); random.IntN(2) == 0 {
					d.record = a.New(n)
					if len(d.record) != n || cap(d.record) != n {
						t.Fatalf("New(%d) has length %d and room for %d", n, len(d.record), cap(d.record))
					}
				} else {
					d.list = a.List(n)
					if len(d.list) != 0 || cap(d.list) != n {
						t.Fatalf("List(%d) has length %d and room for %d", n, len(d.list), cap(d.list))
					}
				}
				for _, v := range d.record {
					if v.Set || v.Num != 0 || v.Str != "" || v.List != nil {
						t.Fatal("a new record is not empty")
					}
				}
				d.write()
				if random.IntN(4) == 0 {
					d.list = append(d.list, Record{{Num: d.mark}})
				}
				taken = append(taken, d)
			}
			for i, d := range taken {
				if !d.intact() {
					t.Fatalf("round %d: number %d of %d was written over", round, i, len(taken))
				}
			}
			a.Reset()
			for _, v := range a.values[:cap(a.values)] {
				if v.Set || v.Num != 0 || v.Str != "" || v.List != nil {
					t.Fatal("Reset leaves a value behind")
				}
			}
			for _, r := range a.records[:cap(a.records)] {
				if r != nil {
					t.Fatal("Reset leaves a record behind")
				}
			}
		}
	}
}

// The arena keeps what it grew to, so that the second answer costs nothing.
func TestArenaDoesNotAllocateTwice(t *testing.T) {
	a := NewArena(0)
	fill := func() {
		a.Reset()
		for range 50 {
			a.New(7)
			a.List(3)
		}
	}
	for range 10 {
		fill()
	}
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
