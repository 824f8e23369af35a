package pack

import (
	"strings"
	"testing"
)

var agents = Pack{
	Models: []Model{{Name: "T46"}, {Name: "T46U"}, {Name: "T21P_E2"}, {Name: "VVX400"}, {Name: "CP-8841"}, {Name: "T28", Generation: "v70"}},
	Generations: []Generation{
		{Name: "v70", From: "*.70.0"}, {Name: "v81", From: "*.81.5"},
	},
	Agents: []string{
		"Acme SIP-{model} {firmware}", "FileTransport Poly*-{model}-UA/{firmware} Type/Application", "Acme/{model}-3PCC", "{model} {firmware}",
	},
}

func TestAgent(t *testing.T) {
	for _, c := range []struct{ agent, model, firmware string }{
		{"Acme SIP-T46 28.72.0.1 00:15:65:aa:bb:01", "T46", "28.72.0.1"},
		{"Acme SIP-T46U 108.86.0.90", "T46U", "108.86.0.90"},
		{"acme sip-t46u  108.86.0.90", "T46U", "108.86.0.90"},
		{"Acme SIP-T21P_E2 52.84.0.15", "T21P_E2", "52.84.0.15"},
		{"Acme SIP-T21PE2 52.84.0.15", "T21P_E2", "52.84.0.15"},
		{"Acme SIP-T21P-E2 52", "T21P_E2", "52"},
		{"FileTransport PolyAny-VVX_400-UA/4.1.4.7430 Type/Application", "VVX400", "4.1.4.7430"},
		{"Acme/CP-8841-3PCC/11.0 (00562b043615)", "CP-8841", ""},
		{"Acme/CP8841-3PCC", "CP-8841", ""},
		{"T46 1.2", "T46", "1.2"},
		{"T28 2.73.0-beta", "T28", "2.73.0"},

		{"", "", ""},
		{"T46", "", ""},
		{"T46 ", "", ""},
		{"T46 v86", "", ""},
		{"T46 .1", "", ""},
		{"T47 1.2", "", ""},
		{" T46 1.2", "", ""},
		{"Acme SIP-T46UX 1.2", "", ""},
		{"Acme SIP-_T46U 1.2", "", ""},
		{"Acme SIP-T46U_ 1.2", "", ""},
		{"FileTransport PolyAny-VVX_400-UA/4.1.4.7430 Type/Updater", "", ""},
		{"FileTransport Poly-VVX_400-UA/4.1.4.7430 Type/Application", "", ""},
		{"curl/8.5.0", "", ""},
		{strings.Repeat("T46", 5000), "", ""},
		{"Acme SIP-\x00\xff 1.2", "", ""},
	} {
		// Which model is looked for first is of no matter.
		for i := range agents.Models {
			name := ""
			m, firmware := agents.Agent(c.agent, &agents.Models[i])
			if m != nil {
				name = m.Name
			}
			if name != c.model || firmware != c.firmware {
				t.Errorf("%.60q: %q %q, want %q %q", c.agent, name, firmware, c.model, c.firmware)
			}
		}
	}
	if m, _ := (&Pack{Models: agents.Models}).Agent("T46 1.2", &agents.Models[0]); m != nil {
		t.Error("a pack without patterns knows an agent")
	}
}

func TestGeneration(t *testing.T) {
	for _, c := range []struct{ model, firmware, want string }{
		{"T46", "", "v81"},
		{"T28", "", "v70"},
		{"T28", "2.81.5", "v81"},
		{"T46", "1.70.0", "v70"},
		{"T46", "1.70.0.0", "v70"},
		{"T46", "1.80.999", "v70"},
		{"T46", "1.81.4.9", "v70"},
		{"T46", "1.81.5", "v81"},
		{"T46", "1.81.05", "v81"},
		{"T46", "1.81.15", "v81"},
		{"T46", "0.200.0", "v81"},
		{"T46", "1.999999999999.0", "v81"},
		{"T46", "1.81.5-SIP", "v81"},

		{"T46", "1.69.9", ""},
		{"T46", "81.5.0", ""},
		{"T46", "1.81", ""},
		{"T46", "90", ""},
		{"T46", "1..5", ""},
		{"T46", "x", ""},
	} {
		name := ""
		if g := agents.Generation(agents.Model(c.model), c.firmware); g != nil {
			name = g.Name
		}
		if name != c.want {
			t.Errorf("%s %q: %q, want %q", c.model, c.firmware, name, c.want)
		}
	}
	if (&Pack{}).Generation(&Model{}, "1.2") != nil {
		t.Error("a pack without generations has one")
	}
}
