package provision

import (
	"stagger/edge/pack"
	"stagger/edge/wire"
)

// The facts of a client certificate, as the host knows them. What a host does not
// say counts as not so.
const (
	factPresented = "cert-presented" // "1"
	factVerified  = "cert-verified"  // "SUCCESS", or a reason
	factRevoked   = "cert-revoked"   // "0" or "1"
	factSubject   = "cert-subject"   // distinguished name, RFC 4514
	factIssuer    = "cert-issuer"
)

// verified says whether the caller has shown a certificate at all: presented,
// verified, known not to be revoked.
func verified(r *wire.Request) bool {
	return r.Fact(factPresented) == "1" && r.Fact(factVerified) == "SUCCESS" && r.Fact(factRevoked) == "0"
}

// certified says whether a verified certificate is that of this very device: with
// the MAC in the attribute where the vendor puts it, from an issuer that is the
// vendor's. A certificate that all phones of a vendor share has no MAC, and so does
// not do.
func certified(r *wire.Request, p *pack.Pack, mac string) bool {
	issuer := attribute(r.Fact(factIssuer), "CN")
	trusted := false
	for _, name := range p.Certificate.Issuers {
		trusted = trusted || name == issuer && name != ""
	}
	return trusted && sameMAC(attribute(r.Fact(factSubject), p.Certificate.Attribute), mac)
}

// attribute returns the value of an attribute of a distinguished name (RFC 4514),
// or "" when it is not there exactly once. Names with escapes or quotes in them
// are not looked into: no MAC and no issuer of ours needs any, and a comma that is
// not one is how a name is made to look like another.
func attribute(name, kind string) string {
	for i := range len(name) {
		if name[i] == '\\' || name[i] == '"' || name[i] == '#' {
			return ""
		}
	}
	found := ""
	for name != "" {
		end := 0
		for end < len(name) && name[end] != ',' && name[end] != '+' {
			end++
		}
		part := skipBlanks(name[:end])
		if len(part) > len(kind) && part[len(kind)] == '=' && part[:len(kind)] == kind {
			if found != "" {
				return ""
			}
			found = part[len(kind)+1:]
		}
		name = name[min(end+1, len(name)):]
	}
	return found
}

// sameMAC compares a MAC as a certificate spells it, in either case and with or
// without separators, with ours.
func sameMAC(spelt, mac string) bool {
	n := 0
	for i := range len(spelt) {
		c := spelt[i]
		if c == ':' || c == '-' {
			continue
		}
		if c >= 'A' && c <= 'F' {
			c += 'a' - 'A'
		}
		if n == len(mac) || mac[n] != c {
			return false
		}
		n++
	}
	return n == len(mac)
}
