// Package accesslog reads the requests of phones out of logs: those of stagger
// serve and of the Worker, and any other with a time and a MAC on a line.
//
// It owns the formats: what a line is, is seen from the line itself, so that a file
// may mix them. It must never stop at a line that it does not understand (it counts
// and names it), and never put anything of a line into an error: paths hold tokens.
package accesslog

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"stagger/edge/provision"
	"stagger/edge/record"
)

// A MAC is the address of a device; 0 is none.
type MAC uint64

func (m MAC) String() string { return fmt.Sprintf("%012x", uint64(m)) }

// MarshalText writes a MAC as everywhere else: twelve digits.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (m *MAC) UnmarshalText(text []byte) error {
	if *m = ParseMAC(string(text)); *m == 0 {
		return errors.New("is not the MAC of a device: twelve hexadecimal digits")
	}
	return nil
}

// ParseMAC reads a MAC with colons, dashes, dots or nothing between, in either case,
// and returns 0 for what is not the MAC of a device.
func ParseMAC(text string) MAC {
	if len(text) < 12 || len(text) > 17 {
		return 0
	}
	var digits [12]byte
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f':
		case c >= 'A' && c <= 'F':
		case c == ':' || c == '-' || c == '.':
			continue
		default:
			return 0
		}
		if n == len(digits) {
			return 0
		}
		digits[n] = text[i] | 0x20 // lower case; a digit has the bit already
		n++
	}
	if n != len(digits) || !record.IsMAC(string(digits[:])) {
		return 0
	}
	mac, err := strconv.ParseUint(string(digits[:]), 16, 64)
	if err != nil {
		return 0
	}
	return MAC(mac)
}

// A Record is one request. What a log does not say is zero.
type Record struct {
	// Time is in nanoseconds since 1970-01-01 UTC.
	Time   int64
	MAC    MAC
	Remote netip.Addr
	Status int
	// Outcome is the core's word for what happened. Vendor is that of the device, or
	// what the User-Agent says. File is the kind of file, Key whether the URL was made
	// with the "current" or the "previous" master key.
	Outcome, Tenant, Vendor, File, Key string
	// Hash is of the body, Documents of what it was made of: see hashOf.
	Hash, Documents uint64
	// Checkin is the seconds after which the phone was told to come again.
	Checkin uint32
	// Requests is how many it stands for, where a log has sums: of no device then.
	// Else it is 0.
	Requests int
}

// OK says whether the phone got what it asked for, as far as the log tells. A phone
// that is told that nothing has changed got it too.
func (r *Record) OK() bool {
	switch {
	case r.Outcome != "":
		return r.Outcome == provision.OK
	case r.Status != 0:
		return r.Status >= 200 && r.Status < 300 || r.Status == 304
	}
	return true
}

// hashOf is a hash as the records have it, 16 hexadecimal digits, or a hash of
// whatever else another log has in its place.
func hashOf(text string) uint64 {
	if len(text) == 16 {
		if n, err := strconv.ParseUint(text, 16, 64); err == nil {
			return n
		}
	}
	return xxhash.Sum64String(text)
}

// fields are the names by which logs call what a record has, in lower case.
var fields = map[string]func(p *Parser, r *Record, value string){
	"time": setTime, "timestamp": setTime, "ts": setTime, "@timestamp": setTime, "date": setTime, "datetime": setTime, "__realtime_timestamp": setTime,
	"mac": setMAC, "device": setMAC, "mac_address": setMAC,
	"path": setPath, "uri": setPath, "url": setPath, "request_uri": setPath, "request": setRequest,
	"remote": setRemote, "remote_addr": setRemote, "remote_ip": setRemote, "client": setRemote, "client_ip": setRemote, "clientip": setRemote, "ip": setRemote,
	"agent": setAgent, "user_agent": setAgent, "http_user_agent": setAgent,
	"status": func(_ *Parser, r *Record, v string) {
		if n, err := strconv.Atoi(v); err == nil && n >= 100 && n <= 599 {
			r.Status = n
		}
	},
	"tenant": func(p *Parser, r *Record, v string) {
		if record.IsTenant(v) {
			r.Tenant = p.intern(v)
		}
	},
	"vendor":    func(p *Parser, r *Record, v string) { r.Vendor = p.word(v) },
	"outcome":   func(p *Parser, r *Record, v string) { r.Outcome = p.word(v) },
	"file":      func(p *Parser, r *Record, v string) { r.File = p.word(v) },
	"key":       func(p *Parser, r *Record, v string) { r.Key = p.word(v) },
	"hash":      func(_ *Parser, r *Record, v string) { r.Hash = hashIf(v) },
	"documents": func(_ *Parser, r *Record, v string) { r.Documents = hashIf(v) },
	"timers":    setTimers,
	"requests": func(_ *Parser, r *Record, v string) {
		if n, err := strconv.Atoi(v); err == nil && n > 0 && n < 1<<40 {
			r.Requests = n
		}
	},
}

func hashIf(text string) uint64 {
	if text == "" {
		return 0
	}
	return hashOf(text)
}

func setTime(p *Parser, r *Record, v string) {
	if t := p.timeOf(v); t != 0 {
		r.Time = t
	}
}

func setMAC(_ *Parser, r *Record, v string) {
	if mac := ParseMAC(v); mac != 0 {
		r.MAC = mac
	}
}

func setRemote(_ *Parser, r *Record, v string) {
	if addr := addrIn(v); addr.IsValid() {
		r.Remote = addr
	}
}

// addrIn is an address, with a port or without.
func addrIn(text string) netip.Addr {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		port, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		addr = port.Addr()
	}
	return addr.Unmap().WithZone("")
}

func setAgent(p *Parser, r *Record, v string) {
	// The vendor of the device is the better word.
	if r.Vendor == "" && v != "" {
		r.Vendor = p.options.agent(v)
	}
}

func setTimers(_ *Parser, r *Record, v string) {
	for timer := range strings.FieldsSeq(v) {
		if value, ok := strings.CutPrefix(timer, "checkin="); ok {
			if strings.Contains(value, ":") {
				r.Checkin = 86400 // a time of the day
			} else if n, err := strconv.ParseUint(value, 10, 32); err == nil {
				r.Checkin = uint32(n)
			}
		}
	}
}

// setRequest reads the first line of a request: GET /path HTTP/1.1.
func setRequest(p *Parser, r *Record, v string) {
	if _, rest, ok := strings.Cut(v, " "); ok {
		target, _, _ := strings.Cut(rest, " ")
		setPath(p, r, target)
	}
}

// setPath finds the MAC in the name of the file, or else anywhere, and the tenant in
// a path that is one of a provisioning URL.
func setPath(p *Parser, r *Record, v string) {
	path, query, _ := strings.Cut(v, "?")
	if _, rest, ok := strings.Cut(path, "://"); ok {
		_, path, _ = strings.Cut(rest, "/")
	}
	path = strings.TrimPrefix(path, "/")
	file := path[strings.LastIndexByte(path, '/')+1:]
	if r.MAC == 0 {
		for _, text := range []string{file, path, query} {
			if r.MAC = macIn(text); r.MAC != 0 {
				break
			}
		}
	}
	tenant, rest, _ := strings.Cut(path, "/")
	token, rest, two := strings.Cut(rest, "/")
	if r.Tenant == "" && two && !strings.Contains(rest, "/") && record.IsTenant(tenant) &&
		(token == "-" || token == provision.OpenToken || len(token) == provision.TokenLength) {
		r.Tenant = p.intern(tenant)
	}
}

// firstTime is the earliest time that a log can have: phones have asked for their
// configuration over HTTP since about 2000.
var firstTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
