// Package zone knows the rules of every time zone of the IANA database as they
// stand now, in numbers that a vendor pack can write in its phone's own form. The
// table is generated once and committed: a newer database changes the files of
// the phones concerned, and that is decided by a person, not by a build.
package zone

// Change is the moment at which the clock changes, as POSIX writes it: "Mm.w.d".
type Change struct {
	// Month is 1 to 12; Week 1 to 4, or 5 for the last one of the month; Weekday 0
	// (Sunday) to 6.
	Month, Week, Weekday int8
	// Minute is the time of day in minutes, on the wall clock that is in force
	// before the change. It may lie outside the day: 1440 is midnight at its end.
	Minute int16
}

// Rule is the rule of a zone.
type Rule struct {
	// Offset is standard time in minutes east of UTC.
	Offset int16
	// Save is by how many minutes the clock is put forward in summer; 0 without
	// summer time.
	Save       int16
	Start, End Change
}

// Find returns the rule of the named zone ("Europe/Belgrade"), or nil. Aliases
// are names too; letter case matters.
func Find(name string) *Rule {
	low, high := 0, len(names)
	for low < high {
		if mid := (low + high) / 2; names[mid].name < name {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(names) && names[low].name == name {
		return &rules[names[low].rule]
	}
	return nil
}

// Names calls yield for the name of every zone, in order.
func Names(yield func(string) bool) {
	for i := range names {
		if !yield(names[i].name) {
			return
		}
	}
}

type named struct {
	name string
	rule uint8
}
