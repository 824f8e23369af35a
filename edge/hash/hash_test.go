package hash

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// RFC 4231, section 4.2 to 4.8.
var rfc4231 = []struct{ key, data, sum string }{
	{strings.Repeat("\x0b", 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
	{"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
	{strings.Repeat("\xaa", 20), strings.Repeat("\xdd", 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
	{unhex("0102030405060708090a0b0c0d0e0f10111213141516171819"), strings.Repeat("\xcd", 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
	{strings.Repeat("\x0c", 20), "Test With Truncation", "a3b6167473100ee06e0c796c2955552b"},
	{strings.Repeat("\xaa", 131), "Test Using Larger Than Block-Size Key - Hash Key First", "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
	{strings.Repeat("\xaa", 131), "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.", "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
}

// RFC 2202, section 2.
var rfc2202 = []struct{ key, data, sum string }{
	{strings.Repeat("\x0b", 16), "Hi There", "9294727a3638bb1c13f48ef8158bfc9d"},
	{"Jefe", "what do ya want for nothing?", "750c783e6ab0b503eaa86e310a5db738"},
	{strings.Repeat("\xaa", 16), strings.Repeat("\xdd", 50), "56be34521d144c88dbb8c733f0e8b3f6"},
	{unhex("0102030405060708090a0b0c0d0e0f10111213141516171819"), strings.Repeat("\xcd", 50), "697eaf0aca3a3aea3a75164746ffaa79"},
	{strings.Repeat("\x0c", 16), "Test With Truncation", "56461ef2342edc00f9bab995690efd4c"},
	{strings.Repeat("\xaa", 80), "Test Using Larger Than Block-Size Key - Hash Key First", "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"},
	{strings.Repeat("\xaa", 80), "Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data", "6f630fad67cda0ee1fb1f562db3aa53e"},
}

// RFC 1321, appendix A.5.
var rfc1321 = map[string]string{
	"":                           "d41d8cd98f00b204e9800998ecf8427e",
	"a":                          "0cc175b9c0f1b6a831c399e269772661",
	"abc":                        "900150983cd24fb0d6963f7d28e17f72",
	"message digest":             "f96b697d7cb7938d525a2f31aaf161d0",
	"abcdefghijklmnopqrstuvwxyz": "c3fcd3d76192e4007dfb496cca67e13b",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789":                   "d174ab98d277d9f5a5611c2c9f419d9f",
	"12345678901234567890123456789012345678901234567890123456789012345678901234567890": "57edf4a22be3c955ac49da2e2107b67a",
}

func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestRFC4231(t *testing.T) {
	for i, c := range rfc4231 {
		key := NewKey(c.key)
		sum := key.Sum(c.data)
		if got := hex.EncodeToString(sum[:]); !strings.HasPrefix(got, c.sum) {
			t.Errorf("case %d: %s, want %s", i+1, got, c.sum)
		}
	}
}

func TestRFC1321(t *testing.T) {
	for message, want := range rfc1321 {
		if sum := MD5(message); hex.EncodeToString(sum[:]) != want {
			t.Errorf("md5 of %q: %x, want %s", message, sum, want)
		}
	}
}

// Every length up to five blocks, then random ones: padding is where hand-made
// hashes go wrong.
func TestAgainstTheStandardLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(key, message []byte) {
		if got, want := SHA256(string(message)), sha256.Sum256(message); got != want {
			t.Fatalf("sha256 of %d bytes: %x, want %x", len(message), got, want)
		}
		if got, want := MD5(string(message)), md5.Sum(message); got != want {
			t.Fatalf("md5 of %d bytes: %x, want %x", len(message), got, want)
		}
		prepared := NewKey(string(key))
		std := hmac.New(sha256.New, key)
		std.Write(message)
		if got := prepared.Sum(string(message)); !hmac.Equal(got[:], std.Sum(nil)) {
			t.Fatalf("hmac of %d bytes under a key of %d: %x", len(message), len(key), got)
		}
	}
	for n := range 2000 + 5*block {
		length := n
		if n > 5*block {
			length = random.IntN(5000)
		}
		key, message := make([]byte, random.IntN(200)), make([]byte, length)
		for i := range key {
			key[i] = byte(random.Uint32())
		}
		for i := range message {
			message[i] = byte(random.Uint32())
		}
		check(key, message)
	}
}

// A tag with any bit changed, cut or extended is not equal: what published
// collections of hostile HMAC cases are made of.
func TestChangedTagsAreRefused(t *testing.T) {
	key := NewKey(strings.Repeat("k", 32))
	sum := key.Sum("message")
	tag := string(sum[:])
	for bit := range 8 * len(tag) {
		changed := []byte(tag)
		changed[bit/8] ^= 1 << (bit % 8)
		if Equal(string(changed), tag) {
			t.Errorf("bit %d changed, and still equal", bit)
		}
	}
	for _, other := range []string{"", tag[:31], tag + "\x00", tag[1:], strings.Repeat("\x00", 32), strings.Repeat("\xff", 32)} {
		if Equal(other, tag) {
			t.Errorf("%x is equal", other)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "", false}, {"ab", "aB", false}, {"abc", "abcd", false}} {
		if Equal(c.a, c.b) != c.want {
			t.Errorf("Equal(%q, %q) is not %v", c.a, c.b, c.want)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	key := NewKey("0123456789abcdef0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		key.Sum("stagger token v1\x00demo\x00001565aabb01\x000")
	}
}
