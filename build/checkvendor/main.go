// Command checkvendor says what a vendor pack has and what it lacks, and fails where
// it is not done: "make check-vendor V=name".
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"stagger/edge/pack/source"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("check-vendor: ")
	if len(os.Args) != 2 || os.Args[1] == "" {
		log.Fatal("usage: make check-vendor V=name (a folder of vendors)")
	}
	vendor := os.Args[1]
	r, err := check(".", vendor)
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range []struct{ what, folder, tests string }{
		{"vendors/packs.go is what \"make generate\" writes", "./vendors", "^TestPacksAreCurrent$"},
		{"the tests of the files", "./vendors", "/^" + vendor + "$"},
		{"the golden cases, in the core as it is here", "./host/corpus", "TestCorpus/^native$/^" + vendor + "-"},
	} {
		out, err := exec.Command("go", "test", run.folder, "-run", run.tests).CombinedOutput()
		if r.add(err == nil, "%s: go test %s -run '%s'", run.what, run.folder, run.tests); err != nil {
			os.Stderr.Write(out)
		}
	}
	fmt.Print(r.String())
	if r.missing > 0 {
		os.Exit(1)
	}
}

// report is a list of what there is and what is missing.
type report struct {
	head    string
	lines   []string
	missing int
}

func (r *report) add(done bool, format string, args ...any) {
	word := "done     "
	if !done {
		word = "MISSING  "
		r.missing++
	}
	r.lines = append(r.lines, word+fmt.Sprintf(format, args...))
}

func (r *report) String() string {
	end := "the pack is done"
	if r.missing > 0 {
		end = fmt.Sprintf("the pack is not done: %d missing", r.missing)
	}
	return r.head + "\n" + strings.Join(r.lines, "\n") + "\n" + end + "\n"
}

// sections are what the README of a pack has to tell, by how a heading begins.
var sections = []string{"What a phone asks for", "Format", "Timers", "Reboots", "Unverified", "To try on a real phone"}

// cases are the golden cases that each pack has.
var cases = []struct{ name, of, has string }{
	{"checkin", "a check-in of a plain phone", "200 ok"},
	{"full", "everything at once", "200 ok"},
	{"names", "awkward names and passwords, with both escaped", "200 ok"},
	{"staged", "a phone that is staged", "200 ok"},
}

// check looks at the files of a pack. A pack that cannot be read is an error.
func check(root, vendor string) (*report, error) {
	folder := filepath.Join(root, "vendors")
	if _, err := os.Stat(filepath.Join(folder, vendor, "pack.json")); err != nil || filepath.Base(vendor) != vendor {
		return nil, fmt.Errorf("no vendors/%s/pack.json", vendor)
	}
	d, err := source.Read(filepath.Join(folder, vendor))
	if err != nil {
		return nil, err
	}
	unverified := func(source string) bool { return strings.Contains(source, "unverified") }
	models, timers := 0, 0
	for _, m := range d.Models {
		if unverified(m.Source) {
			models++
		}
	}
	for _, t := range d.Timers {
		if unverified(t.Source) {
			timers++
		}
	}
	r := &report{head: fmt.Sprintf("%s: %s\n%d models, %d of them unverified; %d timers, %d unverified; sources: %d; patterns of User-Agents: %d", vendor, d.Title, len(d.Models), models, len(d.Timers), timers, len(d.Sources), len(d.Agents))}

	r.add(len(d.Addresses.Prefixes) > 0, "addresses: with what the MACs of its phones begin")
	r.add(len(d.Sources) > 0, "sources: where the facts are from")

	readme, _ := os.ReadFile(filepath.Join(folder, vendor, "README.md"))
	for _, s := range sections {
		r.add(bytes.Contains(readme, []byte("\n## "+s)), "vendors/%s/README.md: %s", vendor, s)
	}
	for _, c := range cases {
		name := vendor + "-" + c.name + ".txt"
		text, _ := os.ReadFile(filepath.Join(root, "testdata/golden", name))
		r.add(bytes.Contains(text, []byte(c.has)), "testdata/golden/%s: %s", name, c.of)
	}
	families, _ := os.ReadFile(filepath.Join(root, "README.md"))
	r.add(bytes.Contains(families, []byte("`vendors/"+vendor+"`")), "README.md: a row in the table of families")
	return r, nil
}
