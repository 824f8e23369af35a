package provision

// ParsePath is path.parse.
func ParsePath(target string) (tenant, token, file string, ok bool) {
	var p path
	ok = p.parse(target)
	return p.tenant, p.token, p.file, ok
}
