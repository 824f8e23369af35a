package vendors_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/zone"
)

// The reference is the database that comes with Go, from which the core's table
// was made, and not the machine's.
func TestMain(m *testing.M) {
	archive := filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")
	if _, err := os.Stat(archive); err == nil {
		os.Setenv("ZONEINFO", archive)
	}
	os.Exit(m.Run())
}

// hourly are the zones that are compared hour by hour: both halves of the world,
// half hours, none, and a summer time that is half an hour.
var hourly = []string{
	"Europe/Belgrade", "Australia/Sydney", "Asia/Kolkata", "America/Phoenix", "America/Sao_Paulo", "Europe/Dublin", "Australia/Lord_Howe", "America/St_Johns", "America/Regina",
}

// irregular have no yearly rule: Morocco's clock goes back for Ramadan.
var irregular = []string{"Africa/Casablanca", "Africa/El_Aaiun"}

// refusedZones change at a time that these phones cannot be told.
var refusedZones = map[string][]string{
	"yealink": {"Africa/Cairo", "America/Santiago", "Asia/Jerusalem", "Asia/Gaza", "Asia/Hebron", "America/Nuuk", "Pacific/Chatham"},
}

// offset is how far the clock is ahead of UTC, in minutes.
func (c *clock) offset(moments *[2]time.Time, at time.Time) int {
	start, end := moments[0], moments[1]
	summer := !at.Before(start) && at.Before(end)
	if end.Before(start) {
		summer = !at.Before(start) || at.Before(end)
	}
	if c.summer && summer {
		return c.standard + c.save
	}
	return c.standard
}

// Every zone's file, read by the phone's grammar, says what the time package says,
// through 2027; or there is no file.
func TestZones(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if l.zone == nil {
			return
		}
		for _, model := range zoneModels(p) {
			testZones(t, s, l, p, model)
		}
	})
}

// zoneModels are a model for each template of the main file.
func zoneModels(p *pack.Pack) []string {
	models := []string{large(p)}
	for _, f := range p.Files {
		for _, v := range f.Variants {
			for i := range p.Models {
				if f.Kind == "config" && slices.Contains(p.Models[i].Features, v.Feature) {
					models = append(models, p.Models[i].Name)
					break
				}
			}
		}
	}
	return models
}

func testZones(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack, model string) {
	t.Run(model, func(t *testing.T) {
		rendered, changes := 0, 0
		refused := map[string]bool{}
		for name := range zone.Names {
			body, err := render(
				fmt.Sprintf(`{"tenant":"demo","vendor":%q,"model":%q,"url":"https://a","time_zone":%q}`, s.Vendor, model, name),
				`{"device":"001565aabb01","tenant":"demo","state":"staged"}`, p, "config")
			if err != nil {
				if !strings.Contains(err.Error(), "cannot express when summer time changes") && !strings.Contains(err.Error(), "the phone has no offset in the ") {
					t.Errorf("%s: %v", name, err)
				}
				refused[name] = true
				continue
			}
			rendered++
			if slices.Contains(irregular, name) {
				continue
			}
			location, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			c := l.zone(t, values(must(l.read(body))))
			var moments [2]time.Time
			if c.summer {
				changes++
				moments = [2]time.Time{c.start.at(2027, c.standard), c.end.at(2027, c.standard+c.save)}
			}
			step := 12 * time.Hour
			if slices.Contains(hourly, name) {
				step = time.Hour
			}
			check := func(at time.Time) bool {
				_, seconds := at.In(location).Zone()
				if got := c.offset(&moments, at); got*60 != seconds {
					t.Errorf("%s at %v: the phone is %d minutes ahead of UTC, should be %d", name, at, got, seconds/60)
					return false
				}
				return true
			}
			// The year of a rule is that of the wall clock, and no clock is further
			// from UTC than 14 hours.
			for at := time.Date(2027, 1, 1, 14, 0, 0, 0, time.UTC); at.Before(time.Date(2027, 12, 31, 10, 0, 0, 0, time.UTC)) && check(at); at = at.Add(step) {
			}
			for _, m := range moments {
				if c.summer {
					check(m.Add(-time.Second))
					check(m)
				}
			}
		}
		for _, name := range hourly {
			if refused[name] && !slices.Contains(refusedZones[s.Vendor], name) {
				t.Errorf("%s is refused", name)
			}
		}
		for _, name := range refusedZones[s.Vendor] {
			if !refused[name] {
				t.Errorf("%s is not refused", name)
			}
		}
		// And nothing else is but by another name for the same rule.
		for name := range refused {
			if !slices.ContainsFunc(refusedZones[s.Vendor], func(known string) bool { return *zone.Find(known) == *zone.Find(name) }) {
				t.Errorf("%s is refused", name)
			}
		}
		if rendered < 500 || changes < 100 {
			t.Errorf("%d zones, %d of them with summer time", rendered, changes)
		}
	})
}
