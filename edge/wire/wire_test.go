package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/wire.json anew")

const vectorFile = "../../testdata/wire.json"

// A vector is a message in words and in bytes. The JavaScript codec is held to
// the same file.
type vector struct {
	Name     string        `json:"name"`
	Request  *jsonRequest  `json:"request,omitempty"`
	Response *jsonResponse `json:"response,omitempty"`
	Need     []string      `json:"need,omitempty"`
	Hex      string        `json:"hex"`
}

type jsonRequest struct {
	Flags     uint32      `json:"flags"`
	Now       uint64      `json:"now"`
	Method    string      `json:"method"`
	Target    string      `json:"target"`
	Facts     [][2]string `json:"facts"`
	Keys      []string    `json:"keys"` // hex
	Documents [][3]any    `json:"documents"`
}

type jsonResponse struct {
	Status  uint32      `json:"status"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"` // hex
	Audit   [][2]string `json:"audit"`
}

func pairs(in []Pair) [][2]string {
	out := [][2]string{}
	for _, p := range in {
		out = append(out, [2]string{p.Name, p.Value})
	}
	return out
}

var requests = map[string]Request{
	"empty request": {},
	"full request": {
		Flags: FlagTLS, Now: 5_000_000_000, Method: "GET", Target: "/demo/token/001565aabb01.cfg?x=1",
		Facts: []Pair{{"user-agent", "Yealink SIP-T46U 108.86.0.90 00:15:65:aa:bb:01"}, {"plain-http", "demo,lab"}},
		Keys:  []string{"\x00\x01\xfe\xff" + strings.Repeat("k", 28), strings.Repeat("p", 40)},
		Documents: []Document{
			{"tenant:demo", Found, `{"tenant":"demo"}`}, {"device:demo:001565aabb01", Absent, ""},
			{"device:demo:001565aabb02", Failed, ""},
		},
	},
	"text beyond ascii": {Method: "GET", Target: "/", Documents: []Document{{"tenant:é", Found, "Łuczak 日本 🎧"}}},
}

var responses = map[string]Response{
	"failure": Failure(),
	"a file": {
		Status: 200, Headers: []Pair{{"content-type", "text/plain; charset=utf-8"}, {"content-length", "5"}},
		Body: []byte("\x00\xff日"), Audit: []Pair{{"outcome", "ok"}, {"mac", "001565aabb01"}},
	},
}

func vectors() []vector {
	var all []vector
	for _, name := range []string{"empty request", "full request", "text beyond ascii"} {
		r := requests[name]
		j := &jsonRequest{Flags: r.Flags, Now: r.Now, Method: r.Method, Target: r.Target, Facts: pairs(r.Facts), Keys: []string{}, Documents: [][3]any{}}
		for _, k := range r.Keys {
			j.Keys = append(j.Keys, hex.EncodeToString([]byte(k)))
		}
		for _, d := range r.Documents {
			j.Documents = append(j.Documents, [3]any{d.Key, d.State, d.Value})
		}
		all = append(all, vector{Name: name, Request: j, Hex: hex.EncodeToString(AppendRequest(nil, &r))})
	}
	for _, name := range []string{"failure", "a file"} {
		r := responses[name]
		j := &jsonResponse{r.Status, pairs(r.Headers), hex.EncodeToString(r.Body), pairs(r.Audit)}
		all = append(all, vector{Name: name, Response: j, Hex: hex.EncodeToString(AppendResponse(nil, &r))})
	}
	need := []string{"tenant:demo", "device:demo:001565aabb01"}
	return append(all, vector{Name: "a need", Need: need, Hex: hex.EncodeToString(AppendNeed(nil, need))})
}

func TestVectors(t *testing.T) {
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(vectors()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(vectorFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("the layout has changed: every engine speaks the old one. A new layout is a new version of the ABI.")
	}
}

func TestRoundTrip(t *testing.T) {
	for name, r := range requests {
		var got Request
		if err := DecodeRequest(string(AppendRequest(nil, &r)), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(AppendRequest(nil, &got), AppendRequest(nil, &r)) || got.Target != r.Target || got.Now != r.Now {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for name, r := range responses {
		var got Response
		if err := DecodeResponse(string(AppendResponse(nil, &r)), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got.Headers, r.Headers) || !bytes.Equal(got.Body, r.Body) || got.Status != r.Status {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// A message that is cut short anywhere, or has anything after it, is malformed.
func TestEveryCutIsNoticed(t *testing.T) {
	r := requests["full request"]
	whole := string(AppendRequest(nil, &r))
	var got Request
	for n := range len(whole) {
		if DecodeRequest(whole[:n], &got) == nil {
			t.Fatalf("a request cut at %d of %d bytes was accepted", n, len(whole))
		}
	}
	if err := DecodeRequest(whole+"x", &got); err == nil || !strings.Contains(err.Error(), "after the last field") {
		t.Errorf("a byte after the request: %v", err)
	}
}

// A count or length that the message cannot hold is refused before anything is
// allocated for it.
func TestHugeCountsAreRefused(t *testing.T) {
	for _, message := range []string{
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff",
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\x7f",
	} {
		var got Request
		if DecodeRequest(message, &got) == nil {
			t.Errorf("%x was accepted", message)
		}
		if n := testing.AllocsPerRun(10, func() { DecodeRequest(message, &got) }); n > 2 {
			t.Errorf("%x: %v allocations", message, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range requests {
		f.Add(AppendRequest(nil, &r))
	}
	for _, r := range responses {
		f.Add(AppendResponse(nil, &r))
	}
	f.Add(AppendNeed(nil, []string{"tenant:demo"}))
	f.Fuzz(func(t *testing.T, in []byte) {
		// Whatever decodes encodes back to the same bytes: there is one encoding.
		var request Request
		if DecodeRequest(string(in), &request) == nil && !bytes.Equal(AppendRequest(nil, &request), in) {
			t.Errorf("request %x has two encodings", in)
		}
		var response Response
		if DecodeResponse(string(in), &response) == nil && !bytes.Equal(AppendResponse(nil, &response), in) {
			t.Errorf("response %x has two encodings", in)
		}
		if keys, err := DecodeNeed(string(in), nil); err == nil && !bytes.Equal(AppendNeed(nil, keys), in) {
			t.Errorf("need %x has two encodings", in)
		}
	})
}
