package provision_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"stagger/edge/provision"
)

// standardToken is the token as its documentation describes it, in the words of
// the standard library.
func standardToken(master, tenant, mac string, generation int64) string {
	lower := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	sum := func(key, message string) []byte {
		h := hmac.New(sha256.New, []byte(key))
		h.Write([]byte(message))
		return h.Sum(nil)
	}
	id := sha256.Sum256([]byte("stagger key v1\x00" + master))
	key := sum(master, "stagger tenant v1\x00"+tenant)
	number := binary.BigEndian.AppendUint16(nil, uint16(generation))
	code := sum(string(key), "stagger token v1\x00"+tenant+"\x00"+mac+"\x00"+string(number))
	// 15 bits of generation are 16, moved up by one.
	return lower.EncodeToString(id[:])[:1] + lower.EncodeToString(binary.BigEndian.AppendUint16(nil, uint16(generation)<<1))[:3] +
		lower.EncodeToString(code)[:26]
}

// standardPassword is the password for Basic and Digest in the same words.
func standardPassword(master, tenant, mac string, generation int64) string {
	sum := func(key, message string) string {
		h := hmac.New(sha256.New, []byte(key))
		h.Write([]byte(message))
		return string(h.Sum(nil))
	}
	number := string(binary.BigEndian.AppendUint16(nil, uint16(generation)))
	key := sum(master, "stagger tenant v1\x00"+tenant)
	code := sum(key, "stagger password v1\x00"+tenant+"\x00"+mac+"\x00"+number)
	return strings.ToLower(base32.StdEncoding.EncodeToString([]byte(code)))[:26]
}

var (
	shortMaster = strings.Repeat("k", provision.MinKey)
	longMaster  = strings.Repeat("0123456789abcdef", 20)
	binMaster   = "\x00\xff" + strings.Repeat("\x80", 40)
)

// A token that changes is a fleet that has lost its configuration: these stay.
var tokens = []struct {
	name, master, tenant, mac string
	generation                int64
	want                      string
}{
	{"first", shortMaster, "demo", "001565aabb01", 0, "naaavamr2ewdm4mjv4yqtbtszb6ypl"},
	{"another MAC", shortMaster, "demo", "001565aabb02", 0, "naaai7golcr5k7wdyc3snigfislu2e"},
	{"another tenant", shortMaster, "lab", "001565aabb01", 0, "naaan6lehpsjf3ybnou4nynbcots2b"},
	{"another generation", shortMaster, "demo", "001565aabb01", 1, "naabsolpgdd3kuw6qwumotm2hmsht6"},
	{"last generation", shortMaster, "demo", "001565aabb01", 32767, "n777bwiuktusrxwqt2f2lkcrhiqils"},
	{"two bytes of generation", shortMaster, "demo", "001565aabb01", 256, "naialwyocyfqecbttlqslwsigyflab"},
	{"longest tenant", shortMaster, strings.Repeat("t", 32), "fefefefefefe", 1000, "na7iccchjewzvfregxjzhom4px5wxt"},
	{"a secret longer than a block", longMaster, "demo", "001565aabb01", 0, "daaatywxfobv6rf5r3ikjybs2thvpy"},
	{"a secret of any bytes", binMaster, "demo", "001565aabb01", 0, "maaae43sehlwaircw5qsezfe4cyvpl"},
}

func TestTokens(t *testing.T) {
	for _, v := range tokens {
		got := provision.Token(v.master, v.tenant, v.mac, v.generation)
		if got != v.want || got != standardToken(v.master, v.tenant, v.mac, v.generation) {
			t.Errorf("%s: %s, want %s, the standard library says %s", v.name, got, v.want, standardToken(v.master, v.tenant, v.mac, v.generation))
		}
	}
}

func TestTokensAgainstTheStandardLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return string(b)
	}
	for range 2000 {
		// All lengths that a master secret may have and then some, over the block
		// of SHA-256 and the buffers of the core.
		master := text(provision.MinKey + random.IntN(300))
		tenant := strings.Repeat("t", 1+random.IntN(32))
		mac := fmt.Sprintf("%012x", random.Uint64()>>16)
		generation := random.Int64N(32768)
		got, want := provision.Token(master, tenant, mac, generation), standardToken(master, tenant, mac, generation)
		if got != want || got[0] != provision.KeyID(master) {
			t.Fatalf("%q %s %s %d: %s, want %s", master, tenant, mac, generation, got, want)
		}
		if got, want := provision.Password(master, tenant, mac, generation), standardPassword(master, tenant, mac, generation); got != want {
			t.Fatalf("%q %s %s %d: password %s, want %s", master, tenant, mac, generation, got, want)
		}
	}
}

// The MACs of a carton are neighbours; their tokens have nothing in common.
func TestTokensAreUnique(t *testing.T) {
	const n = 100_000
	seen := make(map[string]bool, n)
	head := string(provision.KeyID(shortMaster)) + "aaa"
	for i := range n {
		token := provision.Token(shortMaster, "demo", fmt.Sprintf("001565%06x", i), 0)
		if len(token) != provision.TokenLength || token[:4] != head {
			t.Fatalf("%q", token)
		}
		// The first 13 of the 26 characters are enough to tell them apart.
		if seen[token[4:17]] {
			t.Fatalf("two devices have %s", token)
		}
		seen[token[4:17]] = true
	}
}

// No two of (tenant, MAC) run together to the same text.
func TestTokenPartsAreApart(t *testing.T) {
	if provision.Token(shortMaster, "demo0", "01565aabb01", 0)[4:] == provision.Token(shortMaster, "demo", "001565aabb01", 0)[4:] {
		t.Error("a digit moves from the MAC to the tenant")
	}
}

func TestGenerationIsInTheToken(t *testing.T) {
	seen := map[string]int64{}
	for generation := range int64(32768) {
		token := provision.Token(shortMaster, "demo", goodMAC, generation)
		n := int64(0)
		for _, c := range token[1:4] {
			n = n<<5 | int64(strings.IndexRune("abcdefghijklmnopqrstuvwxyz234567", c))
		}
		if n != generation {
			t.Fatalf("generation %d is %q", generation, token[1:4])
		}
		if before, twice := seen[token[4:]]; twice {
			t.Fatalf("generations %d and %d have the same proof", before, generation)
		}
		seen[token[4:]] = generation
	}
}
