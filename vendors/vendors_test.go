package vendors_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/profile"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/edge/template"
	"stagger/edge/template/reference"
	"stagger/vendors"
)

// layout says where a vendor's main file has what, so that a test can find again
// what the documents said. A pack without a layout fails.
type layout struct {
	// read takes the file apart the way a phone does.
	read func(body []byte) ([]setting, error)
	// off is the value of the switch of an account, and of the type of a key, that is
	// not used.
	off string
	// enable is the switch of an account, key the type of a key; module 0 is the
	// phone itself.
	enable func(account int) string
	key    func(module, index int) string
	// timer is the name of a timer's setting for a line; nil where the descriptor's
	// parameter is it, with the line in the place of ".N.".
	timer func(name string, line int) string
	// rename makes of a timer's parameter that of a device whose model or firmware
	// has another; nil where all have the same.
	rename func(d *device, parameter string) string
	// slot stands for key where the name depends on the model, as where the keys of
	// all modules are numbered through (and then there is no key); offKey for off where the keys have another.
	slot   func(d *device, module, index int) string
	offKey string
	// unset says that the format has no token that resets a parameter; a label may
	// look like one.
	unset bool
	// unescape undoes the escaper in a whole file, for text/template has none; nil
	// where nothing is escaped.
	unescape func(file string) string
	// fits says whether a model has this type, and a pickup code, for a key; nil where
	// all models have all. Random phones seldom ask for what does not fit, or nearly
	// all of them would be refused. fit makes of a key one that the phone can express; nil where it can express all.
	fit  func(d *device, k *key, stored map[string]any)
	fits func(m *pack.Model, k key) bool
	// fitLine does for a line what fit does for a key; fitCodec and fitLanguage say
	// whether the phone has one. They are nil where all phones have all.
	fitLine     func(s *source.Descriptor, d *device, l *line, stored map[string]any)
	fitCodec    func(d *device, name string) bool
	fitLanguage func(s *source.Descriptor, d *device, language string) bool
	// carries says whether the format can carry a text, as a label or as anything else;
	// nil where it carries all.
	carries func(s string, label bool) bool
	// also are more settings that have the value of a timer.
	also map[string][]string
	// wants are the settings that the documents ask for, "" for those that must not
	// be in the file.
	wants func(s *source.Descriptor, d *device) map[string]string
	// zone reads the clock's rule back; nil where the file has none.
	zone func(t *testing.T, file map[string]string) *clock
	// settings are extra settings that a profile may set.
	settings []string
	// denied are parameters that a profile must never set.
	denied []string
	// files are the other files, in full.
	files map[string]func(d *device) string
}

type setting struct{ name, value string }

// unescapeXML undoes the five entities.
var unescapeXML = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'").Replace

// readKeyValue reads "name = value" lines below a first line. It takes the file
// apart as plainly as a phone might, and refuses all that two phones could take in
// different ways.
func readKeyValue(body []byte, head string, name *regexp.Regexp) (settings []setting, err error) {
	if !utf8.Valid(body) || bytes.ContainsAny(body, "\r\x00\t\v\f\u0085\u2028\u2029\ufeff") {
		return nil, fmt.Errorf("characters that may end a line")
	}
	text, found := strings.CutPrefix(string(body), head+"\n")
	if !found {
		return nil, fmt.Errorf("the first line is not %s", head)
	}
	text, found = strings.CutSuffix(text, "\n")
	if !found {
		return nil, fmt.Errorf("the last line has no end")
	}
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		parameter, value, found := strings.Cut(line, "=")
		parameter, value = strings.Trim(parameter, " "), strings.Trim(value, " ")
		switch {
		case !found || line != parameter+" = "+value || value == "":
			return nil, fmt.Errorf("line %d is not a name and a value: %q", i+2, line)
		case !name.MatchString(parameter):
			return nil, fmt.Errorf("line %d has the name %q", i+2, parameter)
		case seen[parameter]:
			return nil, fmt.Errorf("line %d sets %s a second time", i+2, parameter)
		}
		seen[parameter] = true
		settings = append(settings, setting{parameter, value})
	}
	return settings, nil
}

func values(settings []setting) map[string]string {
	m := map[string]string{}
	for _, s := range settings {
		m[s.name] = s.value
	}
	return m
}

func names(settings []setting) (list []string) {
	for _, s := range settings {
		list = append(list, s.name)
	}
	return list
}

// each runs a test for every vendor pack.
func each(t *testing.T, f func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack)) {
	packs, err := source.Load(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(packs) == 0 || len(packs) != len(vendors.Packs) {
		t.Fatalf("%d packs in the folders, %d in packs.go", len(packs), len(vendors.Packs))
	}
	for i, s := range packs {
		t.Run(s.Vendor, func(t *testing.T) {
			l := layouts[s.Vendor]
			if l == nil {
				t.Fatalf("this test has no layout of the files of %s", s.Vendor)
			}
			f(t, s, l, &vendors.Packs[i])
		})
	}
}

// phone makes of the documents what templates see.
func phone(tenantDocument, deviceDocument string, p *pack.Pack) (record.Record, []profile.Spread, error) {
	a := record.NewArena(1024)
	tenant, bad := profile.Parse(profile.Tenant, tenantDocument, a)
	if bad != nil {
		return nil, nil, bad
	}
	device, bad := profile.Parse(profile.Device, deviceDocument, a)
	if bad != nil {
		return nil, nil, bad
	}
	b := profile.Builder{Arena: a}
	if auth := tenant[profile.TenantAuth].Str; auth == "basic" || auth == "digest" {
		b.Password = ownPassword
	}
	r, bad := b.Build(tenant, device, p, ownURL)
	if bad != nil {
		return nil, nil, bad
	}
	return r, b.Timers, nil
}

const (
	ownURL      = "https://prov.example/demo/taaa6mx3t6lkhrl3ch2eza7qwgq3ae/"
	ownPassword = "j5wbzombly7qo673bgidqylbhy"
)

// render is the file of this kind.
func render(tenantDocument, deviceDocument string, p *pack.Pack, kind string) ([]byte, error) {
	r, _, err := phone(tenantDocument, deviceDocument, p)
	if err != nil {
		return nil, err
	}
	for i := range p.Files {
		if p.Files[i].Kind == kind {
			body, stopped := new(template.Machine).Run(profile.Program(r, &p.Files[i], ""), nil, r)
			if stopped != nil {
				return nil, stopped
			}
			return body, nil
		}
	}
	return nil, fmt.Errorf("no file of kind %s", kind)
}

// config renders and reads the main file.
func config(t *testing.T, l *layout, p *pack.Pack, tenantDocument, deviceDocument string) []setting {
	t.Helper()
	body, err := render(tenantDocument, deviceDocument, p, "config")
	if err != nil {
		t.Fatalf("%v: %s %s", err, tenantDocument, deviceDocument)
	}
	settings, err := l.read(body)
	if err != nil {
		t.Fatalf("%v:\n%s", err, body)
	}
	return settings
}

func TestPacksAreCurrent(t *testing.T) {
	// The names of the sources are in the generated file as "make generate" sees
	// them.
	t.Chdir("..")
	packs, err := source.Load("vendors")
	if err != nil {
		t.Fatal(err)
	}
	want, err := source.Generate(packs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("vendors/packs.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("vendors/packs.go is not what the folders say: make generate")
	}
}

var placeholder = regexp.MustCompile(`\{\{|\}\}|<no value>|<nil>|%!|%%|__\w+__|\bmap\[`)

// TestRandomProfiles makes up phones and holds every file to what must be true of
// all of them.
func TestRandomProfiles(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		rendered, refused, staged := 0, 0, 0
		for seed := range uint64(600) {
			d := randomDevice(s, l.settings, seed, seed)
			where := fmt.Sprintf("seed %d:\n%s\n%s", seed, d.tenantDocument, d.deviceDocument)
			body, err := render(d.tenantDocument, d.deviceDocument, p, "config")
			if err != nil {
				refused++
				for _, secret := range d.secrets {
					if strings.Contains(err.Error(), secret) {
						t.Fatalf("%s: the error %q tells a secret", where, err)
					}
				}
				continue
			}
			settings, err := l.read(body)
			if err != nil {
				t.Fatalf("%s\n%v:\n%s", where, err, body)
			}
			rendered++
			if d.resets() && !l.unset {
				t.Fatalf("%s\na label that is a reset token is written:\n%s", where, body)
			}
			file := values(settings)
			for _, s := range settings {
				typed := func(v string) bool { return strings.HasSuffix(s.value, v) }
				if placeholder.MatchString(s.value) && !slices.ContainsFunc(d.values, typed) {
					t.Fatalf("%s\nplaceholder: %s = %s", where, s.name, s.value)
				}
			}
			want := l.wants(s, d)
			for name, value := range want {
				// "" is for what must not be there.
				if got, ok := file[name]; got != value || ok != (value != "") {
					t.Fatalf("%s\n%s = %q (there: %v), want %q", where, name, got, ok, value)
				}
			}
			checkTimers(t, s, l, d, file, where)
			checkPlaces(t, l, d, file, where)
			if d.staged {
				staged++
				for _, secret := range d.secrets {
					if bytes.Contains(body, []byte(secret)) {
						t.Fatalf("%s\na staged phone is given %q", where, secret)
					}
				}
			}

			// The same lines for other values, whatever is in them.
			other := randomDevice(s, l.settings, seed, seed+1_000_000)
			body, err = render(other.tenantDocument, other.deviceDocument, p, "config")
			if err != nil {
				continue
			}
			again, err := l.read(body)
			if err != nil {
				t.Fatalf("%s\nwith other values: %v", where, err)
			}
			if a, b := names(settings), names(again); !slices.Equal(a, b) {
				t.Fatalf("%s\n%s\n%s\nother values, other lines:\n%q\n%q", where, other.tenantDocument, other.deviceDocument, a, b)
			}
		}
		if rendered < 400 || refused < 5 || staged < 20 {
			t.Errorf("%d rendered, of those %d staged, and %d refused: the property is empty", rendered, staged, refused)
		}
	})
}

// parameters are the names of a timer's parameter for these lines.
func parameters(s *source.Descriptor, l *layout, timer string, lines []line) (list []string) {
	if l.timer != nil {
		if timer != "register" && l.timer(timer, 1) == l.timer(timer, 2) {
			return append([]string{l.timer(timer, 1)}, l.also[timer]...)
		}
		for _, line := range lines {
			list = append(list, l.timer(timer, line.index))
		}
		return list
	}
	pattern := s.Timers[timer].Parameter
	if !strings.Contains(pattern, ".N.") {
		return []string{pattern}
	}
	for _, l := range lines {
		list = append(list, strings.Replace(pattern, ".N.", "."+strconv.Itoa(l.index)+".", 1))
	}
	return list
}

// checkTimers reads the timers back and holds them to the rule of the spreading.
func checkTimers(t *testing.T, s *source.Descriptor, l *layout, d *device, file map[string]string, where string) {
	t.Helper()
	check := func(parameter, name string, timer spread.Timer) {
		if timer.TimeOfDay() {
			at, err := time.Parse("15:04", file[parameter])
			if err != nil {
				t.Fatalf("%s\n%s = %q", where, parameter, file[parameter])
			}
			seconds := uint64(at.Hour()*3600 + at.Minute()*60)
			switch after := (seconds + spread.Day - timer.Base) % spread.Day; {
			case after > 0 && after >= timer.Window:
				t.Fatalf("%s\n%s = %q is outside of the window of %d seconds after %d", where, parameter, file[parameter], timer.Window, timer.Base)
			case seconds%timer.Unit != 0:
				t.Fatalf("%s\n%s = %q", where, parameter, file[parameter])
			case seconds != timer.For(d.mac, name).Seconds:
				t.Fatalf("%s\n%s = %q, the rule says %d", where, parameter, file[parameter], timer.For(d.mac, name).Seconds)
			}
			return
		}
		n, err := strconv.ParseUint(file[parameter], 10, 64)
		if err != nil || strconv.FormatUint(n, 10) != file[parameter] {
			t.Fatalf("%s\n%s = %q", where, parameter, file[parameter])
		}
		highest := timer.Interval / timer.Unit // in units, rounded down
		switch {
		case n*timer.Unit > timer.Interval:
			t.Fatalf("%s\n%s = %d is above the interval of %d seconds", where, parameter, n, timer.Interval)
		case n*timer.Unit < timer.Floor && n != highest:
			t.Fatalf("%s\n%s = %d is below the floor of %d seconds", where, parameter, n, timer.Floor)
		case n < timer.Min || timer.Max != 0 && n > timer.Max || n == 0:
			t.Fatalf("%s\n%s = %d is outside of the phone's range, %d to %d", where, parameter, n, timer.Min, timer.Max)
		case n+max(timer.Window/timer.Unit, 1) <= highest:
			t.Fatalf("%s\n%s = %d is further below %d than the window of %d seconds", where, parameter, n, highest, timer.Window)
		case n != timer.For(d.mac, name).Units:
			t.Fatalf("%s\n%s = %d, the rule says %d", where, parameter, n, timer.For(d.mac, name).Units)
		}
	}
	for i, name := range []string{"checkin", "register", "subscribe"} {
		for j, parameter := range parameters(s, l, name, d.lines) {
			timer, salt := d.timers[i], name
			if l.rename != nil {
				parameter = l.rename(d, parameter)
			}
			if _, ok := file[parameter]; !ok && name == "subscribe" && !slices.Contains(d.model.Features, "blf") {
				continue
			}
			if name == "register" {
				timer.Interval, salt = d.lines[j].register, "register."+strconv.Itoa(d.lines[j].index)
			}
			check(parameter, salt, timer)
		}
	}
}

// checkPlaces looks for every account and key of the model: phones keep what a
// file does not name.
func checkPlaces(t *testing.T, l *layout, d *device, file map[string]string, where string) {
	t.Helper()
	// One place more than there is must not be written either.
	place := func(name, off string, exists, used bool) {
		value, ok := file[name]
		if ok != exists || ok && !used && value != off {
			t.Fatalf("%s\n%s = %q, there: %v; it exists: %v, is used: %v", where, name, value, ok, exists, used)
		}
	}
	for i := 1; i <= profile.MaxLines; i++ {
		used := slices.ContainsFunc(d.lines, func(l line) bool { return l.index == i })
		place(l.enable(i), l.off, i <= int(d.model.Lines), used)
	}
	for m := 0; m <= int(d.model.Modules)+1; m++ {
		// A module that the profile does not name may not be there.
		room := int(d.model.ModuleKeys)
		if m == 0 {
			room = int(d.model.Keys)
		} else if !slices.ContainsFunc(d.keys, func(k key) bool { return k.module == m }) {
			room = 0
		}
		for i := 1; i <= profile.MaxKeys; i++ {
			used := slices.ContainsFunc(d.keys, func(k key) bool { return k.module == m && k.index == i })
			name, off := "", l.off
			if l.offKey != "" {
				off = l.offKey
			}
			switch {
			case l.slot == nil, l.key != nil && i > room:
				name = l.key(m, i)
			case i <= room || m > int(d.model.Modules):
				name = l.slot(d, m, i)
			default:
				continue // the number of another key
			}
			place(name, off, i <= room, used)
		}
	}
}

// The other files of a phone, in full.
func TestOtherFiles(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		for i := range p.Files {
			f := &p.Files[i]
			if f.Kind == "config" || f.Program == nil {
				continue
			}
			for _, v := range s.Files[i].Templates() {
				name := strings.TrimSpace(f.Kind + " " + v.Version)
				want, ok := l.files[name]
				if !ok {
					t.Fatalf("%s: no test of it", name)
				}
				for seed := range uint64(50) {
					d := randomDevice(s, l.settings, seed, seed)
					r, _, err := phone(d.tenantDocument, d.deviceDocument, p)
					if err != nil {
						continue
					}
					body, stopped := new(template.Machine).Run(f.Choose(v.Version), nil, r)
					if stopped == nil && string(body) != want(d) {
						t.Fatalf("%s is %q, want %q", name, body, want(d))
					}
				}
			}
		}
	})
}

// escaperRefuses is how escapers begin to say what they cannot carry.
var escaperRefuses = regexp.MustCompile(`^(is a reset token|has a |has the beginning of a |is longer than )|could take for syntax$`)

// The standard library runs the same templates to the same bytes.
func TestTextTemplateAgrees(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		tables := map[string]map[string]string{}
		for name, words := range s.Tables {
			tables[name] = words
		}
		for i := range s.Files {
			f, served := &s.Files[i], &p.Files[i]
			for _, v := range f.Templates() {
				compare(t, s, l, p, tables, served, v.Version, v.Template, served.Choose(v.Version))
			}
			for j, v := range f.Variants {
				compare(t, s, l, p, tables, served, "", v.Template, served.Variants[j].Program)
			}
		}
	})
}

// compare runs one template of a file on random phones that get it, in both ways.
func compare(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack, tables map[string]map[string]string, f *pack.File, version, name string, program *template.Program) {
	text, err := os.ReadFile(filepath.Join(s.Vendor, name))
	if err != nil {
		t.Fatal(err)
	}
	standard, err := reference.Parse(name, s.Lines(string(text)), tables)
	if err != nil {
		t.Fatal(err)
	}
	compared, stops := 0, 0
	for seed := uint64(0); seed < 2000 && compared < 75; seed++ {
		d := randomDevice(s, l.settings, seed, seed)
		r, _, err := phone(d.tenantDocument, d.deviceDocument, p)
		if err != nil || profile.Program(r, f, version) != program {
			continue
		}
		var want bytes.Buffer
		failed := standard.Execute(&want, reference.Data(profile.Phone, r))
		got, stopped := new(template.Machine).Run(program, nil, r)
		switch {
		case stopped != nil && failed != nil:
			stops++
		case stopped != nil && escaperRefuses.MatchString(stopped.What):
			// The escaper's business, which text/template knows nothing of.
		case stopped != nil || failed != nil:
			t.Fatalf("%s: ours says %v, text/template %v", name, stopped, failed)
		case l.unescape != nil && l.unescape(string(got)) == want.String(), l.unescape == nil && string(got) == want.String():
			compared++
		default:
			t.Fatalf("%s: ours\n%s\ntext/template\n%s", name, got, want.String())
		}
	}
	if compared < 75 {
		t.Errorf("%s: only %d files compared, %d refused by both", name, compared, stops)
	}
}

// A phone of which the profile says no more than its accounts gets its file, whatever its
// model and however many of its lines are in use.
func TestPlainPhones(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		checkin := `{"interval":86400,"window":14400,"floor":3600}`
		tenant := fmt.Sprintf(`{"tenant":"demo","vendor":%q,"url":"https://prov.example.com","timers":{"checkin":%s},"line":{"server":"pbx.example.com"}}`, s.Vendor, checkin)
		for _, m := range p.Models {
			for _, n := range []int{1, int(m.Lines)} {
				lines := strings.TrimSuffix(strings.Repeat(`{"user":"1001","password":"secret"},`, n), ",")
				device := fmt.Sprintf(`{"device":"001565aabb01","tenant":"demo","model":%q,"lines":[%s]}`, m.Name, lines)
				if _, err := render(tenant, device, p, "config"); err != nil {
					t.Errorf("%s with %d lines: %v", m.Name, n, err)
				}
			}
		}
	})
}

// One input, one source: changing a timer changes all of its lines, and no other.
func TestTimersHaveOneSource(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		lines := []line{{index: 1}, {index: 2}, {index: 4}}
		device := `{"device":"001565aabb01","tenant":"demo","lines":[{"user":"1","password":"a"},{"user":"2","password":"b"},{"index":4,"user":"4","password":"d"}]}`
		document := func(timers string) string {
			return fmt.Sprintf(`{"tenant":"demo","vendor":%q,"model":%q,"url":"https://a","line":{"server":"a"},"timers":{%s}}`, s.Vendor, large(p), timers)
		}
		for name, timer := range s.Timers {
			changed := func(timers ...string) (list []string) {
				before, after := config(t, l, p, document(timers[0]), device), config(t, l, p, document(timers[1]), device)
				if !slices.Equal(names(before), names(after)) {
					t.Fatalf("%s changes the lines", name)
				}
				for i := range before {
					if before[i] != after[i] {
						list = append(list, before[i].name)
					}
				}
				return list
			}
			want := parameters(s, l, name, lines)
			if timer.Kind == source.TimeOfDay {
				if got := changed(`"checkin":{"at":"01:02","window":0}`, `"checkin":{"at":"23:45","window":0}`); !slices.Equal(got, want) {
					t.Errorf("the time of the day changes %q, want %q", got, want)
				}
				continue
			}
			if name == "boot" {
				if got := changed(fmt.Sprintf(`"boot":%d`, timer.Unit*max(timer.Min, 1)), fmt.Sprintf(`"boot":%d`, timer.Unit*(max(timer.Min, 1)+1))); !slices.Equal(got, want) {
					t.Errorf("boot changes %q, want %q", got, want)
				}
				continue
			}
			if got := changed(fmt.Sprintf(`%q:{"interval":7200,"window":0}`, name), fmt.Sprintf(`%q:{"interval":14400,"window":0}`, name)); !slices.Equal(got, want) {
				t.Errorf("%s: the interval changes %q, want %q", name, got, want)
			}
			// Nor is there a second source: without a window the value is the interval.
			file := values(config(t, l, p, document(fmt.Sprintf(`%q:{"interval":7200,"window":0}`, name)), device))
			for _, parameter := range want {
				if file[parameter] != strconv.FormatUint(7200/timer.Unit, 10) {
					t.Errorf("%s = %s", parameter, file[parameter])
				}
			}
		}
	})
}

// large is a model with room for four lines and all features.
func large(p *pack.Pack) string {
	for _, m := range p.Models {
		if m.Lines >= 4 && slices.Contains(m.Features, "blf") {
			return m.Name
		}
	}
	panic("no model with 4 lines")
}

// What the phone cannot count to is refused, and never rounded to what it can.
func TestTimersOutsideOfTheRange(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		device := `{"device":"001565aabb01","tenant":"demo","lines":[{"user":"1","password":"a"}]}`
		for name, timer := range s.Timers {
			lowest, highest := max(timer.Min, 1)*timer.Unit, timer.Max*timer.Unit
			type test struct {
				seconds uint64
				ok      bool
			}
			if timer.Kind == source.TimeOfDay {
				for _, c := range []test{{spread.Day / 2, false}, {spread.Day - 1, false}, {spread.Day, true}, {spread.Day + 1, false}, {timer.Days * spread.Day, true}, {(timer.Days + 1) * spread.Day, false}} {
					document := fmt.Sprintf(`{"tenant":"demo","vendor":%q,"model":%q,"url":"https://a","line":{"server":"a"},"timers":{"checkin":{"interval":%d}}}`, s.Vendor, large(p), c.seconds)
					if _, err := render(document, device, p, "config"); (err == nil) != c.ok {
						t.Errorf("%s of %d seconds: %v", name, c.seconds, err)
					}
				}
				continue
			}
			for _, c := range []test{{lowest - 1, false}, {lowest, true}, {lowest + timer.Unit - 1, true}, {highest, true}, {highest + timer.Unit - 1, true}, {highest + timer.Unit, false}} {
				text := fmt.Sprintf(`%q:{"interval":%d}`, name, c.seconds)
				if name == "boot" {
					text = fmt.Sprintf(`"boot":%d`, c.seconds)
				}
				if c.seconds == 0 || c.seconds > profile.MaxSeconds || name == "boot" && c.seconds > 3600 {
					continue
				}
				document := fmt.Sprintf(`{"tenant":"demo","vendor":%q,"model":%q,"url":"https://a","line":{"server":"a"},"timers":{%s}}`, s.Vendor, large(p), text)
				body, err := render(document, device, p, "config")
				if (err == nil) != c.ok {
					t.Errorf("%s of %d seconds: %v", name, c.seconds, err)
				}
				if err == nil {
					n, _ := strconv.ParseUint(values(must(l.read(body)))[parameters(s, l, name, []line{{index: 1}})[0]], 10, 64)
					if n < timer.Min || n == 0 || timer.Max != 0 && n > timer.Max || n > c.seconds/timer.Unit {
						t.Errorf("%s of %d seconds: the file has %d", name, c.seconds, n)
					}
				}
			}
		}
	})
}

func must(settings []setting, err error) []setting {
	if err != nil {
		panic(err)
	}
	return settings
}

// What the template writes, and what would take a phone away from its owner, no
// profile can set.
func TestExtraSettings(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if len(l.settings) == 0 || len(l.denied) < 10 {
			t.Errorf("%d parameters that a profile may set, %d that it must not: the property is empty", len(l.settings), len(l.denied))
		}
		written := map[string]bool{}
		for seed := range uint64(400) {
			d := randomDevice(s, nil, seed, seed)
			if body, err := render(d.tenantDocument, d.deviceDocument, p, "config"); err == nil {
				for _, s := range must(l.read(body)) {
					written[s.name] = true
				}
			}
		}
		if len(written) < 300 {
			t.Errorf("only %d parameters", len(written))
		}
		for _, name := range append(slices.Sorted(maps.Keys(written)), l.denied...) {
			for _, spelling := range []string{name, strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:], name[:len(name)-1] + strings.ToUpper(name[len(name)-1:])} {
				if p.Allows(spelling) {
					t.Errorf("a profile may set %s", spelling)
				}
			}
		}
		for _, name := range l.settings {
			if !p.Allows(name) {
				t.Errorf("a profile may not set %s", name)
			}
		}
	})
}

// What phones send as User-Agent, as far as it is known.
func TestAgents(t *testing.T) {
	known := map[string][][3]string{
		"yealink": {
			{"Yealink SIP-T46U 108.86.0.90 00:15:65:aa:bb:01", "T46U", "108.86.0.90"}, {"Yealink SIP-T21P_E2 52.80.0.3 00:15:65:4c:4c:26", "T21P_E2", "52.80.0.3"},
			{"Yealink SIP-T56A  58.80.0.25 001565f429a4", "T56A", "58.80.0.25"}, {"yealink SIP-T28P 2.70.0.140 00:15:65:13:ae:0b", "T28P", "2.70.0.140"},
			{"Yealink W70B 146.87.0.15 80:5e:c0:aa:bb:cc", "W70B", "146.87.0.15"}, {"Yealink W90DM 130.87.0.10 80:5e:c0:aa:bb:cc", "W90DM", "130.87.0.10"},
			{"W52P 25.30.0.2 00:15:65:44:b3:7c", "W52P", "25.30.0.2"}, {"Yealink SIP-W52P 25.73.0.20 00:15:65:40:ae:35", "W52P", "25.73.0.20"},
			{"Yealink-T46G 28.71.0.81 28.1.0.128.0.0.0", "T46G", "28.71.0.81"}, {"VP530P 23.70.0.40 00:15:65:31:4b:c0", "", ""},
		},
		"polycom": {
			{"FileTransport PolycomVVX-VVX_400-UA/4.1.4.7430 Type/Application", "VVX400", "4.1.4.7430"}, {"FileTransport PolycomVVX-VVX_500-UA/5.9.7.47435 Type/Updater", "VVX500", "5.9.7.47435"},
			{"FileTransport PolycomSoundPointIP-SPIP_550-UA/4.0.15.1047 (SN:0004f2aabbcc) Type/Application", "SPIP550", "4.0.15.1047"},
			{"FileTransport PolyEdge-Edge_E450-UA/8.0.0.15602 Type/Application", "E450", "8.0.0.15602"}, {"FileTransport PolyCCX-CCX_600-UA/8.0.2.3267 (SN:482567aabbcc) Type/Application", "", ""},
		},
		"grandstream": {
			{"Grandstream Model HW GXP2135 SW 1.0.7.97 DevId 000b82aabbcc", "GXP2135", "1.0.7.97"}, {"Grandstream Model HW GRP2614  V1.3A SW 1.0.5.15 DevId c074adaabbcc", "GRP2614", "1.0.5.15"},
			{"Grandstream Model HW HT801 V1.1A SW 1.0.17.5 DevId c074adaabbcc", "HT801", "1.0.17.5"}, {"Grandstream Model HW HT802V2 V1.0A SW 1.0.5.4 DevId ec74d7aabbcc", "HT802V2", "1.0.5.4"},
			{"Grandstream GXP2000 (gxp2000e.bin:1.2.5.3/boot55e.bin:1.1.6.9) DevId 000b82aabbcc", "", ""},
		},
		"fanvil": {
			{"Fanvil X6U 2.12.16.17 0c383e557eb1", "X6U", "2.12.16.17"}, {"Fanvil X6U Pro 0.0.10 0c383e2cd782", "X6U", "0.0.10"}, {"Fanvil X5U-V2 2.12.16.17 0c383e557eb1", "X5U", "2.12.16.17"},
		},
		"snom": {
			{"Mozilla/4.0 (compatible; snomD785-SIP 10.1.169.16 2010.12-00001-gd311851f1 (Feb 25 2019 - 14:19:43) 000413AABBCC SXM:0 UXM:0 UXMC:0)", "D785", "10.1.169.16"},
			{"Mozilla/4.0 (compatible; Snom M900 05.20.0001 000413aabbcc)", "", ""},
		},
		"mitel": {
			{"Aastra6867i MAC:00-08-5D-40-90-5F V:4.1.0.128-SIP", "6867i", "4.1.0.128"}, {"Mitel6930 MAC:14-00-E9-1E-DB-52 V:6.4.0.140-SIP", "6930", "6.4.0.140"},
		},
		"cisco-mpp": {
			{"Cisco-CP-8841-3PCC/11.3.7 (00562b043615)", "8841", "11.3.7"},
		},
		"cisco-spa": {
			{"Cisco/SPA508G-7.4.8a (0002FDFF2103)(CBT141400UK)", "SPA508G", "7.4.8"}, {"Cisco/SPA525G-7.4.7 (CBT141900G7)", "SPA525G", "7.4.7"},
			{"Cisco/ATA191-MPP-11-1-0-MSR4 (FCH2443D9R4)", "ATA191", ""}, {"Cisco/ATA192-12.0.1(SR3) (88755A000003)", "ATA192", "12.0.1"},
			{"Linksys/SPA-942-6.1.5(a) (88019FA42805)", "", ""},
		},
		"panasonic": {
			{"Panasonic_KX-UT113/01.133 (0080f0c8c381)", "KX-UT113", "01.133"}, {"Panasonic_KX-UT670/01.022 (0080f0c8c382)", "KX-UT670", "01.022"},
			{"Panasonic-KX-TGP500B04/22.116.0.10", "", ""},
		},
	}
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		for _, c := range known[s.Vendor] {
			m, firmware := p.Agent(c[0], &p.Models[0])
			name := ""
			if m != nil {
				name = m.Name
			}
			if name != c[1] || firmware != c[2] {
				t.Errorf("%s: %q %q", c[0], name, firmware)
			}
		}
		if len(known[s.Vendor]) == 0 {
			t.Error("no User-Agent to try its patterns on")
		}
		// The example of each model is that of this model, with a firmware that it can have.
		for i := range p.Models {
			own := &p.Models[i]
			agent := s.Agent(own.Name, "001565aabb01")
			other := &p.Models[(i+1)%len(p.Models)] // looked for first: it must not be in the way
			m, firmware := p.Agent(agent, other)
			if m != own {
				t.Errorf("%s: its example %q fits no pattern, or that of another model", own.Name, agent)
			}
			if firmware != "" && p.Generation(own, firmware) != p.Generation(own, "") {
				t.Errorf("%s: its example %q has a firmware of another generation", own.Name, agent)
			}
		}
	})
}
