package provision

import "stagger/edge/record"

// path is the path of a request that a phone would make:
// /<tenant>/<token>/<file>.
type path struct {
	tenant, token, file string
}

// parse takes a request target apart; the query is not looked at. It decodes
// nothing and folds nothing: a phone asks for exactly what its provisioning URL
// and its file names say, and everything else is a scanner.
func (p *path) parse(target string) bool {
	end := 0
	for end < len(target) && target[end] != '?' {
		end++
	}
	target = target[:end]
	if target == "" || target[0] != '/' {
		return false
	}
	var segments [3]string
	n, start := 0, 1
	for i := 1; i <= len(target); i++ {
		if i < len(target) && target[i] != '/' {
			if c := target[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '.' || c == '-' || c == '_') {
				return false
			}
			continue
		}
		if n == len(segments) {
			return false
		}
		segments[n] = target[start:i]
		n++
		start = i + 1
	}
	p.tenant, p.token, p.file = segments[0], segments[1], segments[2]
	return n == len(segments) && record.IsTenant(p.tenant) && p.token != "" && p.file != ""
}
