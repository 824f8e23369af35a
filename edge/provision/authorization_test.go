package provision_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/vendors"
)

const (
	authMAC = "001565aabbcc"
	authNow = 1_800_000_000
)

// authorized asks with an Authorization header and returns the status.
func authorized(t testing.TB, core *provision.Core, mode, header string) uint32 {
	key := strings.Repeat("k", provision.MinKey)
	_, out := core.Handle(wire.AppendRequest(nil, &wire.Request{
		Flags: wire.FlagTLS, Now: authNow, Method: "GET", Keys: []string{key}, Target: authTarget(),
		Facts: []wire.Pair{{Name: "authorization", Value: header}},
		Documents: []wire.Document{
			{Key: "tenant:demo", Value: `{"tenant":"demo","auth":"` + mode + `","url":"https://p.example","vendor":"yealink","model":"T31G","state":"staged"}`},
			{Key: "device:demo:" + authMAC, Value: `{"device":"` + authMAC + `","tenant":"demo"}`},
		},
	}))
	var response wire.Response
	if err := wire.DecodeResponse(string(out), &response); err != nil {
		t.Fatal(err)
	}
	return response.Status
}

func authTarget() string {
	return "/demo/" + provision.Token(strings.Repeat("k", provision.MinKey), "demo", authMAC, 0) + "/" + authMAC + ".boot"
}

// rightDigest is a header that is right, written by the book.
func rightDigest() string {
	key := strings.Repeat("k", provision.MinKey)
	sum := func(s string) string {
		h := md5.Sum([]byte(s))
		return hex.EncodeToString(h[:])
	}
	nonce := provision.Nonce(key, "demo", authNow)
	a1 := sum(authMAC + ":" + provision.Realm + ":" + provision.Password(key, "demo", authMAC, 0))
	response := sum(a1 + ":" + nonce + ":00000001:abc:auth:" + sum("GET:"+authTarget()))
	return `Digest username="` + authMAC + `", realm="` + provision.Realm + `", nonce="` + nonce + `", uri="` + authTarget() +
		`", response="` + response + `", qop=auth, nc=00000001, cnonce="abc"`
}

// FuzzAuthorization: whatever the header is, the answer is 401, unless it is right
// by somebody else's reading of it: net/http for Basic; for Digest every part that
// counts has to be in it, letter by letter.
func FuzzAuthorization(f *testing.F) {
	password := provision.Password(strings.Repeat("k", provision.MinKey), "demo", authMAC, 0)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(authMAC+":"+password))
	for _, h := range []string{
		"", "Basic", "Basic ", "Basic !!!!", basic, "basic" + basic[5:], basic + "=", basic + " ", "Digest", rightDigest(), rightDigest() + ",",
		strings.ReplaceAll(rightDigest(), `"`, ""), `Digest username="a\"b"`, "Digest =", "Digest a=", "Digest a=b,,c=d", "Bearer x",
	} {
		f.Add(h, false)
		f.Add(h, true)
	}
	core := provision.New(vendors.Packs)
	if got := authorized(f, core, "basic", basic); got != 200 {
		f.Fatalf("the right Basic gets %d", got)
	}
	if got := authorized(f, core, "digest", rightDigest()); got != 200 {
		f.Fatalf("the right Digest gets %d", got)
	}
	response := regexp.MustCompile(`(?i)response *= *"?([0-9a-f]{32})`).FindStringSubmatch(rightDigest())[1]
	f.Fuzz(func(t *testing.T, header string, digest bool) {
		if len(header) > 4096 {
			return
		}
		mode := "basic"
		if digest {
			mode = "digest"
		}
		switch status := authorized(t, core, mode, header); status {
		case 401:
		case 200:
			if digest {
				lower := strings.ToLower(header)
				for _, part := range []string{authMAC, response, provision.Nonce(strings.Repeat("k", provision.MinKey), "demo", authNow), "00000001", authTarget()} {
					if !strings.Contains(lower, strings.ToLower(part)) {
						t.Fatalf("%q is taken", header)
					}
				}
				return
			}
			r := http.Request{Header: http.Header{"Authorization": {header}}}
			user, pass, ok := r.BasicAuth()
			if !ok {
				// net/http wants exactly one blank; more are allowed by RFC 9110.
				r.Header.Set("Authorization", "Basic "+strings.TrimLeft(header[len("basic"):], " \t"))
				user, pass, ok = r.BasicAuth()
			}
			if !ok || !strings.EqualFold(user, authMAC) || pass != password {
				t.Fatalf("%q is taken", header)
			}
		default:
			t.Fatalf("status %d for %q", status, header)
		}
	})
}
