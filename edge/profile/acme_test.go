package profile

import "stagger/edge/pack"

// acme is a vendor whose numbers are small enough to reach: see phone_test.go.
var acme = &pack.Pack{
	Vendor: "acme",
	Models: []pack.Model{
		{Name: "D2", Lines: 2, Keys: 2, Features: []string{"blf", "colour"}},
		{Name: "D4", Lines: 4, Keys: 3, Modules: 2, ModuleKeys: 4},
		{Name: "D250", Lines: 250, Keys: 400, Modules: 6, ModuleKeys: 60, Generation: "old"},
		{Name: "D1", Lines: 1},
		{Name: "A2", Lines: 2, Keys: 2, ASCII: true},
		{Name: "N3", Lines: 4, Keys: 3, NoLineKeys: true},
	},
	Generations: []pack.Generation{
		{Name: "old", From: "1.1"}, {Name: "new", From: "1.10"},
	},
	Checkin:   pack.Timer{Unit: 60, Min: 2, Max: 2000, Native: 120000},
	Register:  pack.Timer{Unit: 1, Min: 30, Max: 7200},
	Subscribe: pack.Timer{Unit: 1, Min: 30},
	Boot:      pack.Timer{Unit: 1, Max: 60},
	Codecs:    []string{"opus", "g722", "pcma", "pcmu"},
	Files:     []pack.File{{Kind: "config", Versions: []pack.Version{{Name: "old"}, {Name: "new"}}}},
	Allow:     []string{"screen.*", "ring.tone", "a.*"},
	Deny:      []string{"screen.lock*", "a.b"},
}
