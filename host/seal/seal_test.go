package seal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"stagger/edge/provision"
)

var update = flag.Bool("update", false, "write testdata/seal.json anew")

const vectorFile = "../../testdata/seal.json"

// A vector is a document of a store and what becomes of it: the document that it
// stands for, or what is wrong.
type vector struct {
	Name     string   `json:"name"`
	Masters  []string `json:"masters"` // hex
	Required bool     `json:"required,omitempty"`
	Key      string   `json:"key"`
	Text     string   `json:"text"`
	Document string   `json:"document,omitempty"`
	Error    string   `json:"error,omitempty"`
}

var (
	current  = strings.Repeat("c", 32)
	previous = strings.Repeat("p", 40)
)

// sharing is a secret with the same id as current.
func sharing() string {
	for i := 0; ; i++ {
		if s := fmt.Sprintf("%032d", i); provision.KeyID(s) == provision.KeyID(current) {
			return s
		}
	}
}

// sealed seals as the package's documentation says, with a nonce that is always the
// same, and does not use the package.
func sealed(master, tenant, key, document string) string {
	mac := hmac.New(sha256.New, []byte(master))
	mac.Write([]byte("stagger seal v1\x00" + tenant))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	header := "stagger-seal:1:" + string(provision.KeyID(master)) + ":"
	nonce := []byte("twelve bytes")
	return header + base64.StdEncoding.EncodeToString(gcm.Seal(nonce, nonce, []byte(document), []byte(header+key)))
}

const (
	key      = "device:demo:001565aabb01"
	document = `{"device":"001565aabb01","tenant":"demo","lines":[{"user":"1001","password":"s3cret","label":"Zoë"}]}`
)

func vectors() []vector {
	both := []string{current, previous}
	text := sealed(current, "demo", key, document)
	at := strings.LastIndex(text, ":") + 1
	// flip flips a bit of a byte of what is behind the header.
	flip := func(i int) string {
		b, err := base64.StdEncoding.DecodeString(text[at:])
		if err != nil {
			panic(err)
		}
		if i < 0 {
			i += len(b)
		}
		b[i] ^= 1
		return text[:at] + base64.StdEncoding.EncodeToString(b)
	}
	other := "a"
	if text[at-2] == 'a' {
		other = "b"
	}
	list := []vector{
		{Name: "current key", Text: text, Document: document},
		{Name: "previous key", Text: sealed(previous, "demo", key, document), Document: document},
		{Name: "two keys with one id, the first", Masters: []string{current, sharing()}, Text: text, Document: document},
		{Name: "two keys with one id, the second", Masters: []string{sharing(), current}, Text: text, Document: document},
		{Name: "document of a tenant", Key: "tenant:demo", Text: sealed(current, "demo", "tenant:demo", `{"tenant":"demo"}`), Document: `{"tenant":"demo"}`},
		{Name: "not a document at all", Text: sealed(current, "demo", key, "\ufeff\x00"), Document: "\ufeff\x00"},
		{Name: "required", Required: true, Text: text, Document: document},
		{Name: "not sealed", Text: document, Document: document},
		{Name: "not sealed, required", Required: true, Text: document, Error: ErrPlain.Error()},
		{Name: "nothing, required", Required: true, Text: "", Error: ErrPlain.Error()},
		{Name: "prefix in another case is no prefix", Required: true, Text: strings.ToUpper(text[:1]) + text[1:], Error: ErrPlain.Error()},
		{Name: "moved to another device", Key: "device:demo:001565aabb02", Text: text, Error: ErrChanged.Error()},
		{Name: "moved to another tenant", Key: "device:other:001565aabb01", Text: text, Error: ErrChanged.Error()},
		{Name: "moved to the tenant", Key: "tenant:demo", Text: text, Error: ErrChanged.Error()},
		{Name: "another tenant's key", Text: sealed(current, "other", key, document), Error: ErrChanged.Error()},
		{Name: "bit of the nonce flipped", Text: flip(0), Error: ErrChanged.Error()},
		{Name: "bit of the document flipped", Text: flip(40), Error: ErrChanged.Error()},
		{Name: "bit of the tag flipped", Text: flip(-1), Error: ErrChanged.Error()},
		{Name: "three bytes short", Text: text[:len(text)-4], Error: ErrChanged.Error()},
		{Name: "shorter than a tag", Text: text[:at+36], Error: ErrChanged.Error()},
		{Name: "shorter than a nonce", Text: text[:at+8], Error: ErrChanged.Error()},
		{Name: "nothing sealed", Text: text[:at], Error: ErrChanged.Error()},
		{Name: "key that is not live", Text: sealed(strings.Repeat("x", 32), "demo", key, document), Error: ErrOtherKey.Error()},
		{Name: "key that is not live, with the id of one that is", Text: sealed(sharing(), "demo", key, document), Error: ErrChanged.Error()},
		{Name: "another id", Masters: []string{current}, Text: text[:at-2] + other + text[at-1:], Error: ErrOtherKey.Error()},
		{Name: "later form", Text: strings.Replace(text, ":1:", ":2:", 1), Error: ErrForm.Error()},
		{Name: "prefix alone", Text: Prefix, Error: ErrForm.Error()},
		{Name: "form alone", Text: "stagger-seal:1:", Error: ErrForm.Error()},
		{Name: "id of two characters", Text: text[:at-1] + "c" + text[at-1:], Error: ErrForm.Error()},
		{Name: "no padding", Text: strings.TrimRight(text, "="), Error: ErrForm.Error()},
		{Name: "bits that say nothing", Text: looseEnd(text), Error: ErrForm.Error()},
		{Name: "alphabet for URLs", Text: text[:at] + "-_" + text[at+2:], Error: ErrForm.Error()},
		{Name: "end of line inside", Text: text[:at+4] + "\n" + text[at+4:], Error: ErrForm.Error()},
		{Name: "end of line behind", Text: text + "\n", Error: ErrForm.Error()},
		{Name: "blank before", Required: true, Text: " " + text, Error: ErrPlain.Error()},
		{Name: "sealed twice", Text: text + text, Error: ErrForm.Error()},
	}
	for i := range list {
		v := &list[i]
		if v.Masters == nil {
			v.Masters = both
		}
		masters := make([]string, len(v.Masters))
		for j, m := range v.Masters {
			masters[j] = hex.EncodeToString([]byte(m))
		}
		v.Masters = masters
		if v.Key == "" {
			v.Key = key
		}
	}
	return list
}

// looseEnd sets the bits of the last digit that say nothing.
func looseEnd(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	body := strings.TrimRight(text, "=")
	last := len(body) - 1
	if body == text {
		panic("the vector has no padding")
	}
	return body[:last] + string(digits[strings.IndexByte(digits, body[last])|1]) + text[len(body):]
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
	data, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want.Bytes()) {
		t.Error("testdata/seal.json is not what this test writes (-update)")
	}
	var list []vector
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		t.Run(v.Name, func(t *testing.T) {
			var masters []string
			for _, m := range v.Masters {
				b, err := hex.DecodeString(m)
				if err != nil {
					t.Fatal(err)
				}
				masters = append(masters, string(b))
			}
			got, err := Opener{New(masters), v.Required}.Document(v.Key, v.Text)
			if message := fmt.Sprint(err); v.Error != "" && (message != v.Error || got != "") || v.Error == "" && err != nil {
				t.Fatalf("%q, %v; want the error %q", got, err, v.Error)
			}
			if got != v.Document {
				t.Errorf("%q, want %q", got, v.Document)
			}
		})
	}
}

// What is sealed opens under its own key, is never the same text twice, and does not
// open when any one bit of it is another.
func TestSeal(t *testing.T) {
	keys := New([]string{current, previous})
	first, err := keys.Seal(key, document)
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := keys.Seal(key, document); second == first {
		t.Error("the same text twice: the nonce is not random")
	}
	if !Sealed(first) || strings.Contains(first, "s3cret") {
		t.Errorf("sealed: %q", first)
	}
	if got, now, err := keys.Open(key, first); got != document || !now || err != nil {
		t.Errorf("%q, %v, %v", got, now, err)
	}
	if got, now, err := New([]string{previous, current}).Open(key, first); got != document || now || err != nil {
		t.Errorf("under the previous key: %q, %v, %v", got, now, err)
	}
	for i := range len(first) {
		for bit := range 8 {
			b := []byte(first)
			b[i] ^= 1 << bit
			if got, err := (Opener{keys, true}).Document(key, string(b)); err == nil || got != "" {
				t.Fatalf("bit %d of byte %d flipped: %q opens", bit, i, b)
			}
		}
		if got, _, err := keys.Open(key, first[:i]); err == nil || got != "" {
			t.Fatalf("cut to %d bytes: opens", i)
		}
	}
	if _, err := New(nil).Seal(key, document); err == nil {
		t.Error("seals without a key")
	}
	if _, _, err := New(nil).Open(key, first); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

type stored map[string]string

func (s stored) Get(_ context.Context, key string) (string, bool, error) {
	if value, found := s[key]; found && value == "" {
		return "", false, errors.New("cannot tell")
	} else {
		return value, found, nil
	}
}

// A store is asked by many at once, and says of what does not open that it cannot
// tell.
func TestStore(t *testing.T) {
	keys := New([]string{current})
	text, err := keys.Seal(key, document)
	if err != nil {
		t.Fatal(err)
	}
	store := Opener{keys, true}.Store(stored{key: text, "device:demo:001565aabb02": text, "tenant:demo": "{}", "tenant:away": ""})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for at, want := range map[string]string{
				key:                        "",
				"device:demo:001565aabb02": "device:demo:001565aabb02 " + ErrChanged.Error(),
				"tenant:demo":              "tenant:demo is not sealed",
				"tenant:away":              "cannot tell",
			} {
				got, found, err := store.Get(t.Context(), at)
				if want == "" && (got != document || !found || err != nil) || want != "" && (got != "" || found || fmt.Sprint(err) != want) {
					t.Errorf("%s: %q, %v, %v", at, got, found, err)
				}
			}
			if _, found, err := store.Get(t.Context(), "tenant:none"); found || err != nil {
				t.Errorf("an absent document: %v, %v", found, err)
			}
		})
	}
	group.Wait()
}

// Whatever lies in a store either opens as a whole or is an error.
func FuzzOpen(f *testing.F) {
	for _, v := range vectors() {
		f.Add(v.Key, v.Text)
	}
	keys := New([]string{current, previous})
	f.Fuzz(func(t *testing.T, at, text string) {
		document, _, err := keys.Open(at, text)
		if err != nil {
			if document != "" {
				t.Fatal("a document and an error")
			}
			return
		}
		again, err := keys.Seal(at, document)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := keys.Open(at, again); got != document || err != nil {
			t.Fatalf("sealed again: %q, %v", got, err)
		}
	})
}
