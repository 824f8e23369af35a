package accesslog

import (
	"strconv"
	"strings"
	"time"
)

// timeOf is the time that a whole text is, in nanoseconds since 1970, or 0.
func (p *Parser) timeOf(text string) int64 {
	t, n := p.timeAt(text)
	if n != len(text) {
		return 0
	}
	return t
}

// timeAt is the time that a text begins with, and of how many bytes it is; both are
// 0 when there is none. It knows
//
//	2026-11-30T09:14:03.25+01:00   RFC 3339, also with a blank, a comma, or "/" in the
//	                               date; without a zone it is that of the options
//	30/Nov/2026:09:14:03 +0100     web servers
//	Nov 30 09:14:03                RFC 3164, in the last year in which it has been
//	1764494043.25                  seconds, milli-, micro- or nanoseconds since 1970
func (p *Parser) timeAt(text string) (int64, int) {
	if len(text) < 10 {
		return 0, 0
	}
	switch {
	case (text[4] == '-' || text[4] == '/') && text[7] == text[4]:
		year, ok1 := digits(text[:4])
		month, ok2 := digits(text[5:7])
		day, ok3 := digits(text[8:10])
		if !ok1 || !ok2 || !ok3 || len(text) < 19 || text[10] != 'T' && text[10] != 't' && text[10] != ' ' {
			return 0, 0
		}
		return p.clock(text, 11, year, month, day)
	case len(text) >= 20 && text[2] == '/' && text[6] == '/' && text[11] == ':':
		day, ok1 := digits(text[:2])
		month, ok2 := monthOf(text[3:6])
		year, ok3 := digits(text[7:11])
		if !ok1 || !ok2 || !ok3 {
			return 0, 0
		}
		return p.clock(text, 12, year, month, day)
	case len(text) >= 15 && text[3] == ' ' && text[6] == ' ':
		month, ok1 := monthOf(text[:3])
		day, ok2 := digits(strings.TrimLeft(text[4:6], " "))
		if !ok1 || !ok2 {
			return 0, 0
		}
		// A day of grace, for clocks and zones.
		latest := p.options.Now().Add(24 * time.Hour)
		t, n := p.clock(text, 7, latest.Year(), month, day)
		if t > latest.UnixNano() {
			t, n = p.clock(text, 7, latest.Year()-1, month, day)
		}
		return t, n
	}
	return epoch(text)
}

// clock reads hh:mm:ss at a place of a text, a fraction and a zone.
func (p *Parser) clock(text string, at, year, month, day int) (int64, int) {
	if len(text) < at+8 || text[at+2] != ':' || text[at+5] != ':' {
		return 0, 0
	}
	hour, ok1 := digits(text[at : at+2])
	minute, ok2 := digits(text[at+3 : at+5])
	second, ok3 := digits(text[at+6 : at+8])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60 {
		return 0, 0
	}
	at += 8
	nano, scale := 0, 100_000_000
	if at < len(text)-1 && (text[at] == '.' || text[at] == ',') && text[at+1] >= '0' && text[at+1] <= '9' {
		for at++; at < len(text) && text[at] >= '0' && text[at] <= '9'; at++ {
			nano += int(text[at]-'0') * scale
			scale /= 10
		}
	}
	offset, n, ok := zone(text[at:])
	if ok {
		return time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC).UnixNano() - offset, at + n
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nano, p.options.Zone).UnixNano(), at
}

// zone reads Z, +01:00 or +0100, with a blank before it or without. The offset is in
// nanoseconds.
func zone(text string) (offset int64, n int, ok bool) {
	rest := strings.TrimPrefix(text, " ")
	n = len(text) - len(rest)
	if rest == "" {
		return 0, 0, false
	}
	switch rest[0] {
	case 'Z', 'z':
		return 0, n + 1, n == 0
	case '+', '-':
	default:
		return 0, 0, false
	}
	if len(rest) < 5 {
		return 0, 0, false
	}
	colon := 0
	if rest[3] == ':' {
		colon = 1
	}
	if len(rest) < 5+colon {
		return 0, 0, false
	}
	hours, ok1 := digits(rest[1:3])
	minutes, ok2 := digits(rest[3+colon : 5+colon])
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	offset = int64(time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
	if rest[0] == '-' {
		offset = -offset
	}
	return offset, n + 5 + colon, true
}

// epoch reads a number of at least ten digits; how many there are says in what unit
// it is. This holds from 2001 to 2286.
func epoch(text string) (int64, int) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	unit := int64(0)
	switch {
	case n < len(text) && alphanumeric(text[n]):
		return 0, 0
	case n == 10:
		unit = int64(time.Second)
	case n == 13:
		unit = int64(time.Millisecond)
	case n == 16:
		unit = int64(time.Microsecond)
	case n == 19:
		unit = 1
	default:
		return 0, 0
	}
	whole, err := strconv.ParseInt(text[:n], 10, 64)
	if err != nil || whole > int64(1<<63-1)/unit {
		return 0, 0
	}
	t := whole * unit
	if n < len(text)-1 && text[n] == '.' {
		for n++; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
			unit /= 10
			t += int64(text[n]-'0') * unit
		}
	}
	return t, n
}

func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, s != ""
}

func monthOf(s string) (int, bool) {
	const months = "jan feb mar apr may jun jul aug sep oct nov dec"
	at := strings.Index(months, strings.ToLower(s))
	return at/4 + 1, at >= 0 && at%4 == 0 && len(s) == 3
}
