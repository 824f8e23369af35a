package fleet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	demo  = `{"tenant":"demo","url":"https://p.example/"}`
	other = `{"tenant":"other"}`
	phone = `{"device":"001565aabb01","tenant":"demo","lines":[{"password":"SECRET"}]}`
)

func TestRead(t *testing.T) {
	second := strings.Replace(phone, "01\"", "02\"", 1)
	for name, file := range map[string]string{
		"plain":            demo + "\n" + phone + "\n" + second + "\n",
		"no end of line":   demo + "\n" + phone + "\n" + second,
		"device first":     phone + "\n" + second + "\n" + demo + "\n",
		"blank lines":      "\n  \n" + demo + "\n\t\n" + phone + "\n\n\n" + second + "\n\n",
		"spaces and CR LF": "  " + demo + " \r\n\t" + phone + "\t\r\n" + second + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			store, err := Read("f", iotest.OneByteReader(strings.NewReader(file)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if store.Tenants() != 1 || store.Devices() != 2 {
				t.Errorf("%d tenants, %d devices", store.Tenants(), store.Devices())
			}
			for key, want := range map[string]string{"tenant:demo": demo, "device:demo:001565aabb01": phone, "device:demo:001565aabb02": second} {
				if got, found, err := store.Get(t.Context(), key); got != want || !found || err != nil {
					t.Errorf("%s: %q, %v, %v", key, got, found, err)
				}
			}
			for _, key := range []string{"", "tenant:", "tenant:other", "device:demo:", "device:other:001565aabb01", "001565aabb01"} {
				if _, found, err := store.Get(t.Context(), key); found || err != nil {
					t.Errorf("%q: %v, %v", key, found, err)
				}
			}
			if !store.HasTenant("demo") || store.HasTenant("other") {
				t.Error("HasTenant")
			}
		})
	}
	if store, err := Read("f", strings.NewReader(""), nil); err != nil || store.Tenants()+store.Devices() != 0 {
		t.Error("an empty file", err)
	}
}

// TestErrors has one line for each thing that can be wrong, and finds them all
// at once.
func TestErrors(t *testing.T) {
	lines := []struct{ text, want string }{
		{demo, ""},
		{phone, ""},
		{`{"tenant":"SECRET","x":`, "not JSON, or more than one value on the line"},
		{`{"tenant":"demo2"} {"SECRET":1}`, "not JSON, or more than one value on the line"},
		{"\ufeff" + other, "not JSON, or more than one value on the line"},
		{`["SECRET"]`, "not an object"},
		{`"SECRET"`, "not an object"},
		{`null`, "not an object"},
		{"{\"tenant\":\"SECRET\xff\"}", "not UTF-8"},
		{`{"SECRET":"SECRET"}`, "tenant is missing"},
		{`{"device":"001565aabb09","password":"SECRET"}`, "tenant is missing"},
		{`{"tenant":7}`, "tenant is not the name of a tenant"},
		{`{"tenant":null}`, "tenant is not the name of a tenant"},
		{`{"tenant":""}`, "tenant is not the name of a tenant"},
		{`{"tenant":"SECRET:x"}`, "tenant is not the name of a tenant"},
		{`{"tenant":"a/b"}`, "tenant is not the name of a tenant"},
		{`{"tenant":"a,b"}`, "tenant is not the name of a tenant"},
		{`{"tenant":"demo","device":null}`, "device is not a MAC address of twelve digits 0-9 and a-f"},
		{`{"tenant":"demo","device":"SECRET"}`, "device is not a MAC address of twelve digits 0-9 and a-f"},
		{`{"tenant":"demo","device":"001565AABB02"}`, "device is not a MAC address of twelve digits 0-9 and a-f"},
		{`{"tenant":"demo","device":"00:15:65:aa:bb:02"}`, "device is not a MAC address of twelve digits 0-9 and a-f"},
		{`{"tenant":"demo","tenant":"SECRET"}`, "tenant is there twice"},
		{`{"tenant":"demo","device":"001565aabb03","device":"001565aabb04"}`, "device is there twice"},
		{demo, "the same tenant as on line 1"},
		{phone, "the same device as on line 2"},
		{strings.Replace(phone, "demo", "other", 1), "the same device as on line 2, there of another tenant"},
		{strings.Replace(phone, "01\",\"tenant\":\"demo", "05\",\"tenant\":\"nobody", 1), "its tenant is not in the file"},
		{`{"tenant":"demo3","x":"` + strings.Repeat("SECRET", MaxLine/6) + `"}`, fmt.Sprintf("longer than %d bytes", MaxLine)},
		{`{"tenant":"demo4","x":"` + strings.Repeat("SECRET", MaxLine) + `"}`, fmt.Sprintf("longer than %d bytes", MaxLine)},
		{other, ""},
		{`{"tenant":"refused","x":"SECRET"}`, "url: is required"},
		{`{"tenant":"refused","device":"001565aabb06"}`, ""}, // its tenant says it already
		{`{"tenant":"demo","device":"001565aabb07","refused":1}`, "device:demo:001565aabb07: lines[0].port: is not a port"},
		{strings.Repeat("[", 100000), "not JSON, or more than one value on the line"},
	}
	var file, want strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&file, "%s\n", l.text)
		if l.want != "" {
			fmt.Fprintf(&want, "fleet.jsonl:%d: %s\n", i+1, l.want)
		}
	}
	check := func(tenant, device string) error {
		switch {
		case strings.Contains(device, "refused\":1"):
			return errors.New("lines[0].port: is not a port")
		case device == "" && strings.Contains(tenant, "refused"):
			return errors.New("url: is required")
		}
		return nil
	}
	_, err := Read("fleet.jsonl", strings.NewReader(file.String()), check)
	var all *Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %v", err)
	}
	if got := err.Error() + "\n"; got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
	if strings.Contains(err.Error(), "SECRET") {
		t.Error("a value is in the error")
	}
}

func TestLongestLine(t *testing.T) {
	line := `{"tenant":"demo","x":"` + strings.Repeat("x", MaxLine-len(`{"tenant":"demo","x":""}`)) + `"}`
	for _, end := range []string{"", "\n", "\r\n", "\n\n"} {
		store, err := Read("f", strings.NewReader(line+end), nil)
		if err != nil || store.Tenants() != 1 {
			t.Errorf("%q: %v", end, err)
		}
	}
	if _, err := Read("f", strings.NewReader(" "+line), nil); err == nil {
		t.Error("one byte more was accepted")
	}
}

func TestCheckSeesBoth(t *testing.T) {
	var seen []string
	_, err := Read("f", strings.NewReader(phone+"\n"+demo), func(tenant, device string) error {
		seen = append(seen, tenant+" "+device)
		return nil
	})
	if want := []string{demo + " ", demo + " " + phone}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, %v", seen, err)
	}
}

func TestManyErrors(t *testing.T) {
	_, err := Read("f", strings.NewReader(strings.Repeat("x\n", maxErrors+5)), nil)
	var all *Errors
	if !errors.As(err, &all) || len(all.List) != maxErrors || all.More != 5 || !strings.HasSuffix(err.Error(), "and 5 more") {
		t.Errorf("%v", err)
	}
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fleet.jsonl")
	if err := os.WriteFile(file, []byte("\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, nil, nil); err == nil || !strings.HasPrefix(err.Error(), file+":2: ") {
		t.Error(err)
	}
	if _, err := Open("-", strings.NewReader("x"), nil); err == nil || !strings.HasPrefix(err.Error(), "<stdin>:1: ") {
		t.Error(err)
	}
	if store, err := Open("-", strings.NewReader(demo), nil); err != nil || store.Tenants() != 1 {
		t.Error(err)
	}
	if _, err := Open(file+"x", nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	broken := io.MultiReader(strings.NewReader(demo+"\n"), iotest.ErrReader(errors.New("unplugged")))
	if _, err := Read("f", broken, nil); err == nil || err.Error() != "read f: unplugged" {
		t.Error(err)
	}
}

func BenchmarkRead(b *testing.B) {
	var file strings.Builder
	file.WriteString(demo + "\n")
	for n := range 100_000 {
		fmt.Fprintf(&file, `{"device":"001565%06x","tenant":"demo","vendor":"yealink","lines":[{"index":1,"user":"%d","password":"%s"}]}`+"\n",
			n, n, strings.Repeat("p", 300))
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read("f", strings.NewReader(file.String()), nil); err != nil {
			b.Fatal(err)
		}
	}
}
