package zone

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// The reference is the database that the table was made from, the one that comes
// with Go, and not the machine's, which may be newer: that a rule has changed in
// the world is no failure of the table.
func TestMain(m *testing.M) {
	archive := filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")
	if _, err := os.Stat(archive); err == nil {
		os.Setenv("ZONEINFO", archive)
	}
	os.Exit(m.Run())
}

// at is the moment of a change in a year, in seconds since 1970, on a wall clock
// that is offset minutes ahead of UTC.
func (c Change) at(year, offset int) int64 {
	day := 1 + (int(c.Weekday)-int(time.Date(year, time.Month(c.Month), 1, 0, 0, 0, 0, time.UTC).Weekday())+7)%7 + 7*(int(c.Week)-1)
	// Week 5 is the last, whether or not the month has five.
	for day > time.Date(year, time.Month(c.Month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		day -= 7
	}
	return time.Date(year, time.Month(c.Month), day, 0, int(c.Minute)-offset, 0, 0, time.UTC).Unix()
}

// differs reads a rule as a phone does, at every step through 2027 and 2028 and in
// the seconds before and after each change, and returns the first moment at which
// the time package has another offset, both in minutes.
func (r *Rule) differs(location *time.Location, step int64) (at time.Time, got, want int, yes bool) {
	standard, summer := int(r.Offset), int(r.Offset)+int(r.Save)
	for year := 2027; year <= 2028; year++ {
		var start, end int64
		if r.Save != 0 {
			start, end = r.Start.at(year, standard), r.End.at(year, summer)
		}
		check := func(moment int64) bool {
			got = standard
			if start < end && moment >= start && moment < end || start > end && (moment >= start || moment < end) {
				got = summer
			}
			at = time.Unix(moment, 0).In(location)
			_, seconds := at.Zone()
			want = seconds / 60
			return got*60 == seconds
		}
		// The year of a rule is that of the wall clock.
		first := time.Date(year, 1, 1, 0, -standard, 0, 0, time.UTC).Unix()
		last := time.Date(year+1, 1, 1, 0, -summer, 0, 0, time.UTC).Unix()
		for moment := first; moment < last; moment += step {
			if !check(moment) {
				return at, got, want, true
			}
		}
		if r.Save != 0 && !(check(start-1) && check(start) && check(end-1) && check(end)) {
			return at, got, want, true
		}
	}
	return time.Time{}, 0, 0, false
}

func TestAgainstTheTimePackage(t *testing.T) {
	for _, c := range []struct {
		name string
		want Rule
	}{
		{"Europe/Belgrade", Rule{60, 60, Change{3, 5, 0, 120}, Change{10, 5, 0, 180}}},
		{"Europe/Dublin", Rule{0, 60, Change{3, 5, 0, 60}, Change{10, 5, 0, 120}}},
		{"Australia/Sydney", Rule{600, 60, Change{10, 1, 0, 120}, Change{4, 1, 0, 180}}},
		{"Australia/Lord_Howe", Rule{630, 30, Change{10, 1, 0, 120}, Change{4, 1, 0, 120}}},
		{"America/New_York", Rule{-300, 60, Change{3, 2, 0, 120}, Change{11, 1, 0, 120}}},
		{"America/St_Johns", Rule{-210, 60, Change{3, 2, 0, 120}, Change{11, 1, 0, 120}}},
		{"America/Santiago", Rule{-240, 60, Change{9, 1, 6, 1440}, Change{4, 1, 6, 1440}}},
		{"Africa/Cairo", Rule{120, 60, Change{4, 5, 5, 0}, Change{10, 5, 4, 1440}}},
		{"Asia/Kolkata", Rule{Offset: 330}},
		{"Asia/Kathmandu", Rule{Offset: 345}},
		{"America/Phoenix", Rule{Offset: -420}},
		{"America/Sao_Paulo", Rule{Offset: -180}},
		{"America/Regina", Rule{Offset: -360}},
		{"UTC", Rule{}},
		{"Etc/GMT+5", Rule{Offset: -300}},
	} {
		location, err := time.LoadLocation(c.name)
		if err != nil {
			t.Fatal(err)
		}
		rule := Find(c.name)
		if rule == nil {
			t.Errorf("%s is not in the table", c.name)
			continue
		}
		if *rule != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, *rule, c.want)
		}
		if at, got, want, yes := rule.differs(location, 3600); yes {
			t.Errorf("%s at %v: %d minutes, the time package says %d", c.name, at, got, want)
		}
	}
}

// irregular are the zones whose clock follows no yearly rule: Morocco goes back an
// hour for Ramadan, which the database lists year by year until 2087. A phone
// cannot be told; it keeps the rest of the year.
var irregular = []string{"Africa/Casablanca", "Africa/El_Aaiun"}

func TestEveryZone(t *testing.T) {
	count := 0
	for name := range Names {
		count++
		rule := Find(name)
		if rule == nil {
			t.Errorf("%s is not found", name)
			continue
		}
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at, got, want, yes := rule.differs(location, 12*3600)
		if yes != slices.Contains(irregular, name) {
			t.Errorf("%s differs from the time package: %v (at %v: %d minutes, not %d); if the database is newer: make zones", name, yes, at, got, want)
		}
	}
	if count < 590 || count != len(names) {
		t.Errorf("%d zones, the table has %d", count, len(names))
	}
	count = 0
	for range Names {
		if count++; count == 3 {
			break
		}
	}
	if count != 3 {
		t.Errorf("Names went on after %d", count)
	}
}

func TestUnknownNames(t *testing.T) {
	known := map[string]bool{}
	for name := range Names {
		known[name] = true
	}
	check := func(name string) {
		if !known[name] && Find(name) != nil {
			t.Errorf("%q is found", name)
		}
	}
	for _, name := range []string{
		"", "/", "Europe", "Europe/", "Europe/Atlantis", "Mars/Olympus_Mons", "A", "zzz", "\xff", "Zulu ", " UTC", "UTC\x00",
		"Factory", "posixrules", "Local", "../Europe/Belgrade", "CET-1CEST",
	} {
		check(name)
		if known[name] {
			t.Errorf("%q is in the table", name)
		}
	}
	for name := range known {
		for i := range name {
			check(name[:i])
		}
		for _, other := range []string{strings.ToLower(name), strings.ToUpper(name), name + "x", name + "/", "x" + name, name[1:], strings.ReplaceAll(name, "_", " ")} {
			check(other)
		}
	}
}

func TestTable(t *testing.T) {
	used := map[uint8]bool{}
	for i := range names {
		if i > 0 && names[i-1].name >= names[i].name {
			t.Errorf("%q is not after %q", names[i].name, names[i-1].name)
		}
		if int(names[i].rule) >= len(rules) {
			t.Fatalf("%s has rule %d of %d", names[i].name, names[i].rule, len(rules))
		}
		used[names[i].rule] = true
	}
	for i, r := range rules {
		// Within a week of the day that is named (RFC 9636, section 3.3.1). Palestine
		// needs it: 50 hours after the fourth Thursday.
		sane := func(c Change) bool {
			return c.Month >= 1 && c.Month <= 12 && c.Week >= 1 && c.Week <= 5 && c.Weekday >= 0 && c.Weekday <= 6 &&
				c.Minute >= -167*60 && c.Minute <= 167*60
		}
		switch {
		case !used[uint8(i)]:
			t.Errorf("rule %d has no zone", i)
		case slices.Index(rules[:], r) != i:
			t.Errorf("rule %d is there twice", i)
		case r.Offset < -12*60 || r.Offset > 14*60 || r.Offset%15 != 0:
			t.Errorf("rule %d: offset %d", i, r.Offset)
		case r.Save == 0 && (r.Start != Change{} || r.End != Change{}):
			t.Errorf("rule %d: changes without summer time", i)
		case r.Save != 0 && (r.Save < 0 || r.Save > 120 || r.Save%30 != 0 || !sane(r.Start) || !sane(r.End) || r.Start == r.End):
			t.Errorf("rule %d: %+v", i, r)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Find("Europe/Belgrade")
	}
}
