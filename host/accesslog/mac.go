package accesslog

// macIn finds a MAC in a text: the first that stands by itself, or behind letters as
// in the names that phones ask for: SEP001565AABB01.cnf.xml, spa001565aabb01.xml.
// The last part of a UUID, which has as many digits, is none.
func macIn(text string) MAC {
	for i := 0; i < len(text); {
		if !alphanumeric(text[i]) {
			i++
			continue
		}
		// A word of letters and digits, and where its last hexadecimal digits begin.
		end, hex := i, i
		for ; end < len(text) && alphanumeric(text[end]); end++ {
			if !isHex(text[end]) {
				hex = end + 1
			}
		}
		switch {
		case end-hex >= 12 && letters(text[i:end-12]) && !(i >= 6 && text[i-1] == '-' && text[i-6] == '-'):
			if mac := ParseMAC(text[end-12 : end]); mac != 0 {
				return mac
			}
		case end-i == 2 && hex == i:
			if mac := separated(text[i:], 2); mac != 0 {
				return mac
			}
		case end-i == 4 && hex == i:
			if mac := separated(text[i:], 4); mac != 0 {
				return mac
			}
		}
		i = end
	}
	return 0
}

// separated is a MAC in groups of so many digits at the beginning of a text, with
// one and the same separator between: 00:15:65:aa:bb:01, 0015.65aa.bb01.
func separated(text string, group int) MAC {
	size := 12 + 12/group - 1
	if len(text) < size || len(text) > size && alphanumeric(text[size]) {
		return 0
	}
	separator := text[group]
	if separator != ':' && separator != '-' && separator != '.' || len(text) > size+1 && text[size] == separator && alphanumeric(text[size+1]) && separator != '.' {
		return 0
	}
	for i := range size {
		if at := i%(group+1) == group; at != (text[i] == separator) {
			return 0
		}
	}
	return ParseMAC(text[:size])
}

func letters(s string) bool {
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
