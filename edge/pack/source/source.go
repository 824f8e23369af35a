// Package source reads vendor packs as people write them: a folder with pack.json
// and templates. It checks them, compiles them and generates the Go source that
// the core links. It runs at build time and in tools; the core never imports it.
package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"stagger/edge/pack"
	"stagger/edge/profile"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/edge/template"
	"stagger/edge/template/compile"
)

// Descriptor is pack.json.
type Descriptor struct {
	// Vendor is the word that a profile selects the pack by; Title is for people.
	Vendor string `json:"vendor"`
	Title  string `json:"title"`
	// Syntax names the escaper of the files: see Syntaxes.
	Syntax string `json:"syntax"`
	// LineEnd is "" for a line feed, as templates have it, or "crlf".
	LineEnd string `json:"line_end,omitempty"`
	// Files are what the phones ask for, in their order.
	Files []File `json:"files"`
	// Timers describes "checkin", "register", "subscribe" and "boot".
	Timers map[string]Timer  `json:"timers"`
	Models []Model           `json:"models"`
	Codecs []string          `json:"codecs"`
	Tables map[string]Words  `json:"tables"`
	Extra  Extra             `json:"extra"`
	Reboot []RebootParameter `json:"reboot"`
	// Certificate describes the phones' own client certificates, and Auth what they can
	// answer a 401 with.
	Certificate Certificate `json:"certificate"`
	Auth        Auth        `json:"auth"`
	// Addresses says what the phones' MACs begin with.
	Addresses Addresses `json:"addresses"`
	// UserAgents are examples of the phones' own, for tools that ask as a phone would, by
	// what the names of the models begin with; the longest beginning decides. They have
	// {model}, or {rest} for what comes behind the beginning, and {mac} in lower case,
	// {mac:} with colons, {MAC} in upper case and {MAC-} with dashes.
	UserAgents map[string]string `json:"user_agents,omitempty"`
	// Generations are those of the firmware, oldest first. Agents are patterns of
	// the phones' User-Agent.
	Generations []Generation `json:"generations"`
	Agents      []string     `json:"agents"`
	// Sources are the texts behind the facts, by the tag used elsewhere.
	Sources map[string]string `json:"sources"`

	// Programs are the compiled templates, by file name of the source.
	Programs map[string]*template.Program `json:"-"`
}

// Words translates our words into the vendor's.
type Words map[string]string

// File is a file that a phone asks for.
type File struct {
	// Name has {mac} where the MAC stands, # for a digit, and * for a model.
	Name string `json:"name"`
	// Kind is the word in logs.
	Kind string `json:"kind"`
	// Type is the Content-Type, and Template the source of the body. Without a
	// template the file is deliberately not served, and Why says why.
	Type     string `json:"type,omitempty"`
	Template string `json:"template,omitempty"`
	Why      string `json:"why,omitempty"`
	// Text is the whole body of a file without MAC, beside a Why: some phones skip
	// their own file when a common one is not there. Anybody gets it.
	Text string `json:"text,omitempty"`
	// Version is what a profile calls Template where there are more, which are in
	// Versions.
	Version  string    `json:"version,omitempty"`
	Versions []Version `json:"versions,omitempty"`
	// Variants are other templates of the same file, for phones with a feature: a
	// word of the model, or the name of a generation.
	Variants []Variant `json:"variants,omitempty"`
}

// Version is another template of a file. It is for a change that a fleet is to get
// in steps: the files of phones stay as they are until a profile chooses it.
type Version struct {
	Version  string `json:"version"`
	Template string `json:"template"`
	// Why says what is different.
	Why string `json:"why"`
}

// Templates are all templates of a file by version, the one that is used where
// nobody chooses first. A file with one has no versions, and its name is "".
func (f *File) Templates() []Version {
	if f.Template == "" {
		return nil
	}
	return append([]Version{{Version: f.Version, Template: f.Template}}, f.Versions...)
}

// Variant is the template of a file for phones with a feature.
type Variant struct {
	Feature  string `json:"feature"`
	Template string `json:"template"`
}

// Generation is a range of firmware that is configured alike. From is its first
// version, with "*" for any number; it ends where the next one begins.
type Generation struct {
	Name   string `json:"name"`
	From   string `json:"from"`
	Source string `json:"source"`
}

// TimeOfDay is the kind of a timer for which the phone looks at its clock.
const TimeOfDay = "time-of-day"

// Timer is a parameter of the phone.
type Timer struct {
	Parameter string `json:"parameter"`
	// Kind is "" for an interval, or TimeOfDay. Days is then how many days may lie
	// between two times: 1 for a phone that comes every day.
	Kind string `json:"kind,omitempty"`
	Days uint64 `json:"days,omitempty"`
	// Unit is in seconds; Min and Max are in units, Max 0 for no limit.
	Unit    uint64 `json:"unit"`
	Min     uint64 `json:"min"`
	Max     uint64 `json:"max"`
	Default uint64 `json:"default"`
	Scope   string `json:"scope"`
	Source  string `json:"source"`
	// Effective is when the phone renews what it was given, where that is known and
	// not at the end of the value.
	Effective *Effective `json:"effective,omitempty"`
	// Native is the phone's own random check-in, where it has one.
	Native *Native `json:"native,omitempty"`
}

// Native is a phone's own way of coming at random.
type Native struct {
	// How says what the phone does, and by which parameters.
	How string `json:"how"`
	// Max is the longest interval in seconds over the whole of which the phone draws, so
	// that a profile can ask for it; 0 where the mode is another one, and not offered.
	Max    uint64 `json:"max,omitempty"`
	Source string `json:"source"`
}

// Effective is a moment of renewal: at Percent of the value, or between Percent and To
// as the phone chooses, or Before seconds ahead of its end but never before its half.
type Effective struct {
	Percent uint64 `json:"percent,omitempty"`
	To      uint64 `json:"to,omitempty"`
	Before  uint64 `json:"before,omitempty"`
	Source  string `json:"source"`
}

// String is the rule in short: 50%, 50%-75% or -60.
func (e *Effective) String() string {
	switch {
	case e.Before > 0:
		return fmt.Sprintf("-%d", e.Before)
	case e.To > 0:
		return fmt.Sprintf("%d%%-%d%%", e.Percent, e.To)
	}
	return fmt.Sprintf("%d%%", e.Percent)
}

// Model is a model of phone.
type Model struct {
	Name       string `json:"name"`
	Lines      uint16 `json:"lines"`
	Keys       uint16 `json:"keys"`
	Modules    uint16 `json:"modules,omitempty"`
	ModuleKeys uint16 `json:"module_keys,omitempty"`
	// NoLineKeys says that no key can be a line, so that a profile without keys leaves
	// them free.
	NoLineKeys bool     `json:"no_line_keys,omitempty"`
	Features   []string `json:"features,omitempty"`
	// ASCII says that the phone reads nothing else.
	ASCII bool `json:"ascii,omitempty"`
	// Generation is that of a phone whose profile names no firmware; the newest
	// one where it is left out.
	Generation string `json:"generation,omitempty"`
	Source     string `json:"source"`
}

// Certificate says which attribute of the subject has the MAC, and the common names
// of the issuers.
type Certificate struct {
	Attribute string   `json:"attribute"`
	Issuers   []string `json:"issuers"`
	Source    string   `json:"source"`
}

// Auth says which kinds of HTTP authentication the phones can do: "basic", "digest".
type Auth struct {
	Kinds  []string `json:"kinds"`
	Source string   `json:"source"`
}

// Addresses are beginnings of the phones' MACs: six hexadecimal digits in lower case.
type Addresses struct {
	Prefixes []string `json:"prefixes"`
	Source   string   `json:"source"`
}

// Extra says which parameters beyond the profile's fields may be set: names, or
// beginnings that end in "*". Deny wins.
type Extra struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// RebootParameter is a parameter whose change reboots the phone.
type RebootParameter struct {
	Parameter string `json:"parameter"`
	Source    string `json:"source"`
}

// Syntax is how files are escaped: Append of a package, and in single places, by
// the names that the function "as" has for them, its other escapers.
type Syntax struct {
	Package string
	As      map[string]string
	// Check is the function of the package that has the last word on a file, or "".
	Check string
}

// Syntaxes are the escapers, by the name that a descriptor uses.
var Syntaxes = map[string]Syntax{
	"keyvalue": {Package: "stagger/edge/escape/keyvalue"},
	"xml":      {Package: "stagger/edge/escape/xml", As: map[string]string{"item": "AppendItem", "macro": "AppendMacro", "url": "AppendURL", "user": "AppendUser"}},
	"percent":  {Package: "stagger/edge/escape/percent"},
	"colon":    {Package: "stagger/edge/escape/colon", As: map[string]string{"label": "AppendLabel"}},
	"quoted":   {Package: "stagger/edge/escape/quoted", Check: "CheckFile"},
	"marked":   {Package: "stagger/edge/escape/marked"},
}

// names are those that "as" knows, in the order in which a program has them.
func (s Syntax) names() []string { return slices.Sorted(maps.Keys(s.As)) }

// Load reads all packs below dir, in the order of their names.
func Load(dir string) ([]*Descriptor, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var packs []*Descriptor
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		d, err := Read(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		packs = append(packs, d)
	}
	return packs, nil
}

// Read reads the pack in one folder and compiles its templates. All errors of the
// descriptor are reported at once.
func Read(dir string) (*Descriptor, error) {
	name := filepath.Join(dir, "pack.json")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	if err := d.check(filepath.Base(dir)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tables := map[string]map[string]string{}
	for table, words := range d.Tables {
		tables[table] = words
	}
	for _, f := range d.Files {
		for _, name := range f.Sources() {
			if d.Programs[name] != nil {
				continue
			}
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			program, err := compile.Compile(filepath.ToSlash(path), d.Lines(string(text)), compile.Options{
				Root: profile.Phone, Tables: tables, Escapes: Syntaxes[d.Syntax].names(),
			})
			if err != nil {
				return nil, err
			}
			d.Programs[name] = program
		}
	}
	return d, nil
}

// Lines is a template with the line ends that its files have.
func (d *Descriptor) Lines(text string) string {
	if d.LineEnd == "crlf" {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// Sources are the names of all templates of a file: the versions of that of most
// phones, and then the variants.
func (f *File) Sources() (names []string) {
	for _, v := range f.Templates() {
		names = append(names, v.Template)
	}
	for _, v := range f.Variants {
		names = append(names, v.Template)
	}
	return names
}

// Parse reads pack.json alone: no templates, no checks. name stands for the file in
// errors.
func Parse(name string, data []byte) (*Descriptor, error) {
	d := &Descriptor{Programs: map[string]*template.Program{}}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: has something after the object", name)
	}
	return d, nil
}

// Descriptors reads the pack.json of every folder of fsys: see Parse.
func Descriptors(fsys fs.FS) ([]*Descriptor, error) {
	names, err := fs.Glob(fsys, "*/pack.json")
	if err != nil {
		return nil, err
	}
	var all []*Descriptor
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		d, err := Parse(name, data)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func (d *Descriptor) check(folder string) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	source := func(where, tag string) {
		for _, t := range strings.Fields(tag) {
			if _, ok := d.Sources[t]; !ok && t != "unverified" {
				fail("%s: source %q is not among the sources", where, t)
			}
		}
		if strings.TrimSpace(tag) == "" {
			fail("%s: has no source; write \"unverified\" where there is none", where)
		}
	}
	if d.Vendor != folder {
		fail("vendor %q is not the name of the folder, %q", d.Vendor, folder)
	}
	if _, ok := Syntaxes[d.Syntax]; !ok {
		fail("unknown syntax %q", d.Syntax)
	}
	if d.LineEnd != "" && d.LineEnd != "crlf" {
		fail("line_end %q is neither left out nor \"crlf\"", d.LineEnd)
	}
	kinds := map[string]bool{}
	for _, f := range d.Files {
		where := "file " + f.Name
		if (f.Template == "") == (f.Why == "") {
			fail("%s: needs either a template, or a why for not being served", where)
		}
		if f.Text != "" && (f.Why == "" || f.Type == "" || strings.Contains(f.Name, "{mac}")) {
			fail("%s: a text for everybody needs a why and a type, and no {mac} in its name", where)
		}
		for _, v := range f.Variants {
			if v.Template == "" || f.Template == "" || !d.feature(v.Feature) {
				fail("%s: a variant needs a template, beside that of the other phones, and a feature that some model or generation has", where)
			}
		}
		if f.Template != "" && (f.Type == "" || !strings.Contains(f.Name, "{mac}")) {
			fail("%s: a file with a body needs a type, and {mac} in its name: what is served must be proven", where)
		}
		if (f.Version == "") != (len(f.Versions) == 0) || len(f.Versions) > 0 && f.Template == "" {
			fail("%s: versions need a template, and the name of its own version", where)
		}
		seen := map[string]bool{f.Version: true}
		if record.Name.Check(f.Version) != "" {
			fail("%s: version %q: is not a name", where, f.Version)
		}
		for _, v := range f.Versions {
			if v.Version == "" || seen[v.Version] || record.Name.Check(v.Version) != "" {
				fail("%s: version %q: a name used twice, or none", where, v.Version)
			}
			if v.Template == "" || v.Why == "" {
				fail("%s: version %s: needs a template, and a why for being there", where, v.Version)
			}
			seen[v.Version] = true
		}
		// Letters in a path are those that the core lets through, and a digit is
		// free only where no MAC says whose file it is.
		before, after, proven := strings.Cut(f.Name, "{mac}")
		rest := before + after
		if !proven {
			rest = strings.ReplaceAll(rest, "#", "0")
		}
		if strings.Count(before, "*") == 1 {
			rest = strings.Replace(rest, "*", "0", 1)
		}
		if f.Name == "" || record.Name.Check(rest) != "" {
			fail("%s: no phone can ask for it: a name is letters, digits and \"._-\", with one {mac}, or # for digits, and one * for a model before that", where)
		}
		if f.Kind == "" || kinds[f.Kind] {
			fail("%s: kind %q is empty or used twice", where, f.Kind)
		}
		kinds[f.Kind] = true
	}
	for name, t := range d.Timers {
		if !slices.Contains([]string{"checkin", "register", "subscribe", "boot"}, name) {
			fail("timer %s: no such timer", name)
		}
		if t.Unit == 0 || t.Max != 0 && t.Max < t.Min || t.Parameter == "" {
			fail("timer %s: needs a parameter, a unit in seconds, and a range that is one", name)
		}
		switch {
		case t.Kind == TimeOfDay:
			if name != "checkin" || t.Days == 0 || t.Min != 0 || t.Max != 0 || t.Unit == 0 || spread.Day%t.Unit != 0 {
				fail("timer %s: a time of the day is that of the check-in, with days, without a range, and with a unit that divides a day", name)
			}
		case t.Kind != "" || t.Days != 0:
			fail("timer %s: is an interval, or of the kind %q with days", name, TimeOfDay)
		}
		source("timer "+name, t.Source)
		if n := t.Native; n != nil {
			if name != "checkin" || n.How == "" || n.Max > 0 && (t.Kind != "" || n.Max/t.Unit < max(t.Min, 1)) {
				fail("timer %s: native is for check-ins at an interval: how, and max in seconds within the range", name)
			}
			source("timer "+name+", native", n.Source)
		}
		if e := t.Effective; e != nil {
			share := e.Percent > 0 && e.Percent <= 100 && e.To <= 100 && (e.To == 0 || e.To >= e.Percent)
			if share == (e.Before > 0) || e.Before > 0 && e.Percent+e.To > 0 || name != "register" && name != "subscribe" {
				fail("timer %s: effective is for register and subscribe: percent from 1 to 100, to one that is no lower, or seconds before the end", name)
			}
			source("timer "+name+", effective", e.Source)
		}
	}
	for i, g := range d.Generations {
		where := "generation " + g.Name
		if g.Name == "" || !version.MatchString(g.From) || i > 0 && strings.Count(g.From, ".") != strings.Count(d.Generations[0].From, ".") {
			fail("%s: needs a name and a first version, of as many numbers as the others have", where)
		}
		if i > 0 && (&pack.Generation{From: g.From}).Since(strings.ReplaceAll(d.Generations[i-1].From, "*", "0")) {
			fail("%s: the oldest comes first", where)
		}
		source(where, g.Source)
	}
	for _, a := range d.Agents {
		if strings.Count(a, "{model}") != 1 || strings.Count(a, "{firmware}") > 1 || strings.ContainsAny(agentWords.Replace(a), "{}") {
			fail("agent %q: has one {model}, and at most one {firmware}", a)
		}
	}
	models := map[string]bool{}
	for _, m := range d.Models {
		if m.Generation != "" && !slices.ContainsFunc(d.Generations, func(g Generation) bool { return g.Name == m.Generation }) {
			fail("model %s: there is no generation %q", m.Name, m.Generation)
		}
		if models[m.Name] || m.Name == "" || record.Name.Check(m.Name) != "" || m.Lines == 0 {
			fail("model %q: a name used twice, no name, or no lines", m.Name)
		}
		if (m.Modules == 0) != (m.ModuleKeys == 0) {
			fail("model %s: modules without keys, or keys without modules", m.Name)
		}
		if m.NoLineKeys && m.Keys == 0 {
			fail("model %s: says of keys that it does not have what they can be", m.Name)
		}
		models[m.Name] = true
		source("model "+m.Name, m.Source)
	}
	for _, c := range d.Codecs {
		if !slices.Contains(profile.Codecs, c) {
			fail("codec %q: a profile cannot name it", c)
		}
	}
	for _, name := range d.Extra.Deny {
		if name != strings.ToLower(name) {
			fail("extra: %q: what is denied is written in lower case, and denied in any", name)
		}
	}
	if len(d.Certificate.Issuers) > 0 {
		source("certificate", d.Certificate.Source)
		if d.Certificate.Attribute == "" {
			fail("certificate: needs the attribute that holds the MAC")
		}
	}
	for _, kind := range d.Auth.Kinds {
		if !slices.Contains([]string{"basic", "digest"}, kind) {
			fail("auth: %q: the kinds are basic and digest", kind)
		}
	}
	source("auth", d.Auth.Source)
	for _, prefix := range d.Addresses.Prefixes {
		if !record.IsMAC(prefix + "000001") {
			fail("addresses: %q is not six hexadecimal digits in lower case, or is that of a group", prefix)
		}
	}
	if len(d.Addresses.Prefixes) > 0 {
		source("addresses", d.Addresses.Source)
	}
	for beginning := range d.UserAgents {
		if strings.ContainsAny(d.Agent(beginning, ""), "{}\r\n") {
			fail("user_agents: %q has {model}, {rest}, {mac}, {mac:}, {MAC} and {MAC-}, and no other braces", beginning)
		}
		if !slices.ContainsFunc(d.Models, func(m Model) bool { return strings.HasPrefix(m.Name, beginning) }) {
			fail("user_agents: no model begins with %q", beginning)
		}
	}
	for _, r := range d.Reboot {
		source("reboot "+r.Parameter, r.Source)
	}
	return errors.Join(errs...)
}

// Agent is the User-Agent of a phone of this model and MAC; empty where the pack knows
// none.
func (d *Descriptor) Agent(model, mac string) string {
	beginning := ""
	for b := range d.UserAgents {
		if len(b) > len(beginning) && strings.HasPrefix(model, b) {
			beginning = b
		}
	}
	var bytes []string
	for i := 0; i+2 <= len(mac); i += 2 {
		bytes = append(bytes, mac[i:i+2])
	}
	return strings.NewReplacer("{model}", model, "{rest}", model[len(beginning):], "{mac}", mac, "{mac:}", strings.Join(bytes, ":"),
		"{MAC}", strings.ToUpper(mac), "{MAC-}", strings.ToUpper(strings.Join(bytes, "-"))).Replace(d.UserAgents[beginning])
}

var (
	version    = regexp.MustCompile(`^(\d{1,9}|\*)(\.(\d{1,9}|\*))*$`)
	agentWords = strings.NewReplacer("{model}", "", "{firmware}", "")
)

// feature says whether some phone has this feature.
func (d *Descriptor) feature(word string) bool {
	return slices.ContainsFunc(d.Generations, func(g Generation) bool { return g.Name == word }) ||
		slices.ContainsFunc(d.Models, func(m Model) bool { return slices.Contains(m.Features, word) })
}

// Pack makes of a descriptor what the core works with.
func (d *Descriptor) Pack() pack.Pack {
	timer := func(name string) pack.Timer {
		t := d.Timers[name]
		timer := pack.Timer{Unit: t.Unit, Min: t.Min, Max: t.Max, Days: t.Days}
		if t.Native != nil {
			timer.Native = t.Native.Max
		}
		return timer
	}
	p := pack.Pack{
		Vendor: d.Vendor, Agents: d.Agents, Codecs: d.Codecs, Allow: d.Extra.Allow, Deny: d.Extra.Deny,
		Checkin: timer("checkin"), Register: timer("register"), Subscribe: timer("subscribe"), Boot: timer("boot"),
	}
	p.Certificate = pack.Certificate{Attribute: d.Certificate.Attribute, Issuers: d.Certificate.Issuers}
	for _, m := range d.Models {
		p.Models = append(p.Models, pack.Model{
			Name: m.Name, Lines: m.Lines, Keys: m.Keys, Modules: m.Modules, ModuleKeys: m.ModuleKeys, NoLineKeys: m.NoLineKeys,
			Features: m.Features, ASCII: m.ASCII, Generation: m.Generation,
		})
	}
	for _, g := range d.Generations {
		p.Generations = append(p.Generations, pack.Generation{Name: g.Name, From: g.From})
	}
	for _, f := range d.Files {
		file := pack.File{Kind: f.Kind, Type: f.Type, Prefix: f.Name, Program: d.Programs[f.Template], Text: f.Text}
		if before, after, ok := strings.Cut(f.Name, "{mac}"); ok {
			file.Prefix, file.Suffix, file.MAC = before, after, true
		}
		if len(f.Versions) > 0 {
			for _, v := range f.Templates() {
				file.Versions = append(file.Versions, pack.Version{Name: v.Version, Program: d.Programs[v.Template]})
			}
		}
		for _, v := range f.Variants {
			file.Variants = append(file.Variants, pack.Variant{Feature: v.Feature, Program: d.Programs[v.Template]})
		}
		p.Files = append(p.Files, file)
	}
	return p
}
