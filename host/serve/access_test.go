package serve

import (
	"math/rand/v2"
	"strings"
	"testing"
)

const token = "ebaaa4kx2n7qwzr3u5hmdjb6cpyvtg" // 30 characters, as long as a real one

func TestLoggedPath(t *testing.T) {
	for target, want := range map[string]string{
		"/demo/" + token + "/001565aabb01.cfg":            "/demo/-/001565aabb01.cfg",
		"/demo/" + token + "/001565aabb01.cfg?x=" + token: "/demo/-/001565aabb01.cfg",
		"/demo/open/y000000000044.cfg":                    "/demo/-/y000000000044.cfg",
		"/demo/" + token + "/SEP001565AABB01.cnf.xml":     "/demo/-/SEP001565AABB01.cnf.xml",
		"/demo/short/001565aabb01-local.cfg":              "/demo/-/001565aabb01-local.cfg",
		"//demo/" + token + "/001565aabb01.cfg":           "//-/-/001565aabb01.cfg",
		"/./demo/./" + token + "/001565aabb01.cfg":        "/./-/./-/001565aabb01.cfg",
		"/" + token:                    "/-",
		"/demo/" + token:               "/demo/-",
		"/demo/x/" + token + "/":       "/demo/-/-/",
		"/demo/x/../" + token + ".cfg": "/demo/-/../-",
		"/demo/x/" + strings.ReplaceAll(token, "a", "%61"): "/demo/-/-",
		"/demo/x/" + token[:16] + "-" + token[16:]:         "/demo/-/-",
		"/" + strings.ToUpper(token) + "/x/y":              "/-/-/y",
		"http://host/demo/" + token + "/001565aabb01.cfg":  "-",
		"host:443":                             "-",
		"*":                                    "-",
		"":                                     "-",
		"/":                                    "/",
		"/a b/\x00/\xff/<script>":              "/-/-/-/-",
		"/demo/x/" + strings.Repeat("a.", 40):  "/demo/-/-",
		strings.Repeat("/abc", 1000):           "/abc/-" + strings.Repeat("/abc", 31) + "...",
		"/demo/x/" + strings.Repeat("/", 1000): "/demo/-" + strings.Repeat("/", 122) + "...",
	} {
		if got := loggedPath(target); got != want {
			t.Errorf("%q is logged as %q, want %q", target, got, want)
		}
	}
}

// TestTokenNeverLogged puts a token, whole or in part, anywhere in a path.
func TestTokenNeverLogged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const other = "/./..//abc-def_%61?&=:*\x00"
	for range 20000 {
		target := "/demo/" + token + "/001565aabb01.cfg"
		for range random.IntN(8) {
			at := random.IntN(len(target) + 1)
			switch random.IntN(3) {
			case 0:
				target = target[:at] + string(other[random.IntN(len(other))]) + target[at:]
			case 1:
				target = target[:at] + target[min(at+1, len(target)):]
			case 2:
				target = target[:at] + token + target[at:]
			}
		}
		got := loggedPath(target)
		if len(got) > maxPath+maxPath/2+5 {
			t.Fatalf("%q is logged as %d bytes", target, len(got))
		}
		for i := 0; i+16 <= len(token); i++ {
			if strings.Contains(got, token[i:i+16]) {
				t.Fatalf("%q is logged as %q", target, got)
			}
		}
	}
}

func TestAgentClass(t *testing.T) {
	for agent, want := range map[string]string{
		"":                                    "none",
		"Yealink SIP-T46S 66.86.0.15":         "yealink",
		"Mozilla/4.0 snomD785-SIP":            "snom",
		"PolycomVVX-VVX_411-UA/5.9":           "poly",
		"Grandstream Model HW GXP2170":        "grandstream",
		"Mozilla/5.0 (X11; Linux)":            "mozilla",
		"curl/8.5.0":                          "curl",
		"\x00\xff":                            "other",
		strings.Repeat("z", 8000) + "yealink": "yealink",
	} {
		if got := AgentClass(agent); got != want {
			t.Errorf("%.30q is %q, want %q", agent, got, want)
		}
	}
}
