// Package pack describes a family of phones to the core: which files they ask
// for, what their timers count in, how many lines and keys a model has. The
// descriptions themselves are data, in vendors/; no vendor's name appears here or
// anywhere else in the core.
package pack

import "stagger/edge/template"

// Pack is one vendor's family of phones.
type Pack struct {
	// Vendor is the name that a profile selects it by.
	Vendor string
	Models []Model
	Files  []File
	// Generations are those of the firmware, oldest first. None: all is configured
	// alike.
	Generations []Generation
	// Agents are what the phones' User-Agent looks like: see Agent.
	Agents []string
	// Checkin, Register and Subscribe are the phone's parameters for the three
	// timers; Boot is the delay before the first registration.
	Checkin, Register, Subscribe, Boot Timer
	// Certificate is what the phones' own client certificates look like.
	Certificate Certificate
	// Codecs are those that the phones know, in the order in which the ones that
	// a profile does not list are switched off.
	Codecs []string
	// Allow and Deny say which extra settings a profile may set: names, or
	// beginnings of names where they end in "*". Deny wins, and is in lower case.
	Allow, Deny []string
}

// Model is a model of phone and what it has room for.
type Model struct {
	Name string
	// Lines is the number of SIP accounts, Keys that of programmable keys on the
	// phone, Modules that of expansion modules and ModuleKeys that of keys on each.
	Lines, Keys, Modules, ModuleKeys uint16
	// NoLineKeys says that no key can be a line: left to themselves they do nothing.
	NoLineKeys bool
	// Features are words that a template may ask for.
	Features []string
	// ASCII says that the phone reads nothing else. A profile with another
	// character in it is refused, not changed.
	ASCII bool
	// Generation is that of the firmware where a profile does not say which; "" is
	// the newest.
	Generation string
}

// Timer is a parameter of a phone for a timer.
type Timer struct {
	// Unit is what it counts in, in seconds; 0 when the phone has no such timer.
	Unit uint64
	// Min and Max are its range, in units. Max 0 means no upper limit.
	Min, Max uint64
	// Days is 0 for an interval. For a time of the day it is how many days may lie
	// between two of them.
	Days uint64
	// Native is the longest interval in seconds over which the phone can draw the
	// moment of its check-in itself; 0 if it cannot.
	Native uint64
}

// Certificate says where a vendor's client certificates carry the MAC, and who
// issues them.
type Certificate struct {
	// Attribute is that of the subject that holds the MAC: "CN".
	Attribute string
	// Issuers are the common names of the issuers. None: there are no such
	// certificates, or nothing is known of them.
	Issuers []string
}

// File is a file that the phones ask for.
type File struct {
	// Prefix and Suffix surround the MAC in the name. Without MAC the name is
	// Prefix. In Prefix "#" stands for a digit, and "*" for letters and digits.
	Prefix, Suffix string
	MAC            bool
	// Kind is the word for this file in the audit record.
	Kind string
	// Type is the Content-Type.
	Type string
	// Program renders the body; nil is a file that is deliberately not served:
	// the phone goes on to the next name.
	Program *template.Program
	// Text is the body of a file without MAC that some phones have to get before they
	// ask for their own. It is the same for everybody and says nothing.
	Text string
	// Versions are all programs of a file that has more than one, Program being
	// that of the first.
	Versions []Version
	// Variants are the bodies of phones with a certain feature, which come before
	// Program and Versions. The first that fits counts.
	Variants []Variant
}

// Variant is the body of a file for phones with a feature: a word of the model, or
// the name of the generation.
type Variant struct {
	Feature string
	Program *template.Program
}

// Version is one of several programs of a file, which a profile chooses by name.
type Version struct {
	Name    string
	Program *template.Program
}

// Choose returns the program of this version, or the file's own where it has no
// such version: not every file of a phone changes with each.
func (f *File) Choose(version string) *template.Program {
	for i := range f.Versions {
		if f.Versions[i].Name == version {
			return f.Versions[i].Program
		}
	}
	return f.Program
}

// HasVersion says whether any file has a program of this version.
func (p *Pack) HasVersion(version string) bool {
	for i := range p.Files {
		for j := range p.Files[i].Versions {
			if p.Files[i].Versions[j].Name == version {
				return true
			}
		}
	}
	return false
}

// Model returns the named model, or nil.
func (p *Pack) Model(name string) *Model {
	for i := range p.Models {
		if p.Models[i].Name == name {
			return &p.Models[i]
		}
	}
	return nil
}

// File returns the file of this name, or nil. mac is what stands in the place of
// the MAC, as it was written.
func (p *Pack) File(name string) (file *File, mac string) {
	for i := range p.Files {
		if mac, ok := p.Files[i].Match(name); ok {
			return &p.Files[i], mac
		}
	}
	return nil, ""
}

// Match says whether name is a name of this file, and returns the 12 characters
// in the place of the MAC. Whether these are a MAC is for the caller to see.
func (f *File) Match(name string) (mac string, ok bool) {
	if !f.MAC {
		return "", like(f.Prefix, name)
	}
	end := len(name) - len(f.Suffix)
	if end < 12 || name[end:] != f.Suffix || !like(f.Prefix, name[:end-12]) {
		return "", false
	}
	return name[end-12 : end], true
}

// like compares a name with a pattern, in which "#" is a digit and "*", of which
// there is at most one, 1 to 16 letters and digits: the model, where phones put it
// into the name.
func like(pattern, name string) bool {
	for i := range len(pattern) {
		switch {
		case pattern[i] == '*':
			rest := pattern[i+1:]
			n := len(name) - i - len(rest)
			if n < 1 || n > 16 || name[len(name)-len(rest):] != rest {
				return false
			}
			for j := i; j < i+n; j++ {
				if c := name[j]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
					return false
				}
			}
			return true
		case i == len(name):
			return false
		case pattern[i] == '#':
			if name[i] < '0' || name[i] > '9' {
				return false
			}
		case pattern[i] != name[i]:
			return false
		}
	}
	return len(pattern) == len(name)
}

// Allows says whether a profile may set the named parameter.
//
// Whether a phone tells the letter case of names apart is not known of any, so
// what is denied is denied in every spelling.
func (p *Pack) Allows(name string) bool {
	if !matches(p.Allow, name, 1) {
		return false
	}
	var folded [64]byte
	if len(name) > len(folded) {
		return false
	}
	for i := range len(name) {
		folded[i] = lower(name[i])
	}
	return !matches(p.Deny, string(folded[:len(name)]), 0)
}

// matches says whether name is one of the patterns. The "*" of a pattern stands for
// as many characters as more, at least.
func matches(patterns []string, name string, more int) bool {
	for _, p := range patterns {
		if n := len(p) - 1; n >= 0 && p[n] == '*' {
			if len(name) >= n+more && name[:n] == p[:n] {
				return true
			}
		} else if p == name {
			return true
		}
	}
	return false
}
