package diff

import (
	"slices"
	"strings"

	"stagger/edge/pack/source"
	"stagger/host/settings"
)

// rules are what a pack knows of reboots.
type rules struct {
	list []rule
	// known says that somebody has looked: then what is not listed does not reboot.
	known bool
}

type rule struct {
	pattern string
	// sourced says that there is a source, be it a weak one.
	sourced bool
}

func newRules(list []source.RebootParameter) *rules {
	r := &rules{}
	for _, p := range list {
		sourced := slices.ContainsFunc(strings.Fields(p.Source), func(tag string) bool { return tag != "unverified" })
		r.list = append(r.list, rule{p.Parameter, sourced})
		r.known = r.known || sourced
	}
	return r
}

// effect is what a change of the parameter does. A pattern is that of a name, or of a
// whole path.
func (r *rules) effect(path string) Effect {
	path, _, _ = strings.Cut(path, "#") // the second of two
	name := settings.Name(path)
	listed := false
	for _, e := range r.list {
		if match(e.pattern, name) || match(e.pattern, path) {
			if e.sourced {
				return Reboot
			}
			listed = true
		}
	}
	if r.known && !listed {
		return Live
	}
	return Unverified
}

// match compares a name with a pattern, in which "*" stands for any characters.
func match(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// general is a path with a star for every number that tells lines, keys and the like
// apart: account.*.label of account.1.label, and line* of line1. A number behind a
// single letter is a name, as in P270.
func general(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		j := i
		for j < len(path) && path[j] >= '0' && path[j] <= '9' {
			j++
		}
		if j == i {
			b.WriteByte(path[i])
			i++
			continue
		}
		letters := 0
		for k := i - 1; k >= 0 && letter(path[k]); k-- {
			letters++
		}
		if letters == 1 || j < len(path) && letter(path[j]) {
			b.WriteString(path[i:j])
		} else {
			b.WriteByte('*')
		}
		i = j
	}
	return b.String()
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
