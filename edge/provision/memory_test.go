package provision_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"stagger/edge/provision"
	"stagger/edge/wire"
)

// reachable calls f for all text that can be reached from v, to the end of every
// buffer, with the way to it. It does not go into what is skipped.
func reachable(v reflect.Value, path string, skip func(path string) bool, seen map[unsafe.Pointer]bool, f func(path, text string)) {
	if skip(path) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		f(path, v.String())
	case reflect.Pointer:
		if v.IsNil() || seen[v.UnsafePointer()] {
			return
		}
		seen[v.UnsafePointer()] = true
		reachable(v.Elem(), path, skip, seen, f)
	case reflect.Struct:
		for i := range v.NumField() {
			reachable(v.Field(i), path+"."+v.Type().Field(i).Name, skip, seen, f)
		}
	case reflect.Interface:
		if !v.IsNil() {
			reachable(v.Elem(), path, skip, seen, f)
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		v = v.Slice(0, v.Cap())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			f(path, string(v.Bytes()))
			return
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			reachable(v.Index(i), path, skip, seen, f)
		}
	case reflect.Map, reflect.Chan, reflect.UnsafePointer:
		panic("the core has a " + v.Kind().String() + " at " + path + ", which this test does not look into")
	}
}

// leftover is where a core still has a text that it should have forgotten.
func leftover(core *provision.Core, secrets []string, out bool) (found []string) {
	reachable(reflect.ValueOf(core), "core", func(path string) bool {
		// The answer itself is for the host to read.
		return path == "core.packs" || path == "core.out" && !out
	}, map[unsafe.Pointer]bool{}, func(path, text string) {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				found = append(found, path+" has "+s)
			}
		}
	})
	return found
}

// After an answer nothing of the request is left in the core: not the password,
// not the token, not the key. Whatever the answer is.
func TestNothingIsLeft(t *testing.T) {
	large := func(w *world) {
		// More than the arena and the buffers have room for at first.
		w.edit(deviceKey, `"label":"zq7 label"}`, `"label":"zq7 label"}`+strings.Repeat(`,{"user":"zq7","password":"zq7password"}`, 99))
		w.edit(tenantKey, `"D2"`, `"D100","extra":{"acme":{`+manySettings(100)+`}}`)
		w.edit(tenantKey, `"acme"`, `"acme","keys":[`+strings.TrimSuffix(strings.Repeat(`{"type":"blf","value":"zq7"},`, 300), ",")+`]`)
	}
	cases := append([]guard{
		{check: "HEAD", change: method("HEAD"), status: 200},
		{check: "HEAD: stopped half-way", change: all(method("HEAD"), file(goodMAC+".stop")), status: 500},
		{check: "large", change: large, status: 200},
		{check: "large, with a password", change: all(basic(basicHeader(currentKey, "demo", goodMAC, generation)), large), status: 200},
		{check: "staged", change: edit(deviceKey, `"generation"`, `"state":"staged","generation"`), status: 200},
	}, guards...)
	for _, g := range cases {
		t.Run(g.check, func(t *testing.T) {
			core, w := provision.New(packs), newWorld()
			g.change(w)
			w.fact("authorization", "Basic "+marker)
			if len(w.Keys) == 0 {
				w.Keys = []string{marker}
			}
			if a := w.ask(t, core); g.status != 0 && a.Status != g.status {
				t.Errorf("status %d %s", a.Status, a.audit("error"))
			}
			if found := leftover(core, w.secrets(), false); len(found) > 0 {
				t.Errorf("%q", found)
			}
			// The next answer, of another phone, takes the place of this one.
			next := newWorld()
			next.Target, next.Keys = "/", []string{strings.Repeat("n", provision.MinKey)}
			next.ask(t, core)
			if found := leftover(core, w.secrets(), true); len(found) > 0 {
				t.Errorf("after the next answer: %q", found)
			}
			// And so does a message that cannot be read.
			w.ask(t, core)
			core.Handle([]byte("x"))
			if found := leftover(core, w.secrets(), true); len(found) > 0 {
				t.Errorf("after a malformed message: %q", found)
			}
		})
	}
}

// The search finds what is there: the answer, before the next one.
func TestSearchFinds(t *testing.T) {
	core, w := provision.New(packs), newWorld()
	w.ask(t, core)
	if found := leftover(core, []string{"zq7password"}, true); len(found) != 1 || !strings.HasPrefix(found[0], "core.out ") {
		t.Errorf("%q", found)
	}
}

// A request that is cut short leaves nothing either.
func TestNothingIsLeftOfMalformedMessages(t *testing.T) {
	core, w := provision.New(packs), newWorld()
	w.Documents = []wire.Document{w.store[tenantKey], w.store[deviceKey]}
	good := wire.AppendRequest(nil, &w.Request)
	for n := len(good) - 300; n < len(good); n++ {
		core.Handle(good[:n])
		if found := leftover(core, w.secrets(), true); len(found) > 0 {
			t.Fatalf("cut at %d: %q", n, found)
		}
	}
}

func manySettings(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"a.` + strconv.Itoa(i) + `":"zq7"`)
	}
	return b.String()
}
