package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stagger/edge/profile"
	"stagger/edge/record"
)

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string is always JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func path(list string, i int, field string) string {
	return list + "[" + strconv.Itoa(i) + "]." + field
}

// compose writes the document of a device. numbers are those of its lines, in order.
func compose(mac, tenant string, device []string, lines map[int][]string, keys string) (document string, numbers []int) {
	var b strings.Builder
	member := func(name, json string) {
		if json == "" {
			return
		}
		if text := b.String(); text[len(text)-1] != '{' {
			b.WriteByte(',')
		}
		b.WriteString(quote(name) + ":" + json)
	}
	b.WriteByte('{')
	member("device", quote(mac))
	member("tenant", quote(tenant))
	for i, f := range deviceFields {
		member(f.Name, device[i])
	}
	numbers = slices.Sorted(maps.Keys(lines))
	if len(numbers) > 0 {
		b.WriteString(`,"lines":[`)
		for i, n := range numbers {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('{')
			// A line is the one behind that before unless it says otherwise.
			if i == 0 && n != 1 || i > 0 && n != numbers[i-1]+1 {
				member("index", strconv.Itoa(n))
			}
			for j, f := range lineFields {
				member(f.Name, lines[n][j])
			}
			b.WriteByte('}')
		}
		b.WriteByte(']')
	}
	member("keys", keys)
	b.WriteByte('}')
	return b.String(), numbers
}

// columnOf translates a path inside a document into the column it came from.
func columnOf(path, what string, numbers []int) (string, string) {
	var i int
	var field string
	if n, _ := fmt.Sscanf(path, "lines[%d].%s", &i, &field); n == 2 && i < len(numbers) {
		if numbers[i] > 1 {
			field = fmt.Sprintf("line%d_%s", numbers[i], field)
		}
		return field, what
	}
	if n, _ := fmt.Sscanf(path, "keys[%d].%s", &i, &field); n == 2 {
		return "keys", fmt.Sprintf("key %d: %s: %s", i+1, field, what)
	}
	if path == "lines" {
		return "user", what // what makes a line of a row
	}
	if path == "" || slices.ContainsFunc(deviceFields, func(f *record.Field) bool { return f.Name == path }) {
		return path, what
	}
	return "", path + ": " + what
}

// parseKeys reads the column of keys: keys with ";" between them, each
//
//	type[/line][:value][=label]
//
// in the order of the phone. Behind a backslash ";", "=" and "\" are themselves. A
// ";" at the end is allowed.
func parseKeys(cell string) (json, what string) {
	var list []string
	parts := split(strings.Trim(cell, blanks), ';', -1)
	if n := len(parts); strings.Trim(parts[n-1], blanks) == "" {
		parts = parts[:n-1]
	}
	if len(parts) == 0 {
		return "", ""
	}
	if len(parts) > profile.MaxKeys {
		return "", fmt.Sprintf("has more than %d keys", profile.MaxKeys)
	}
	for i, part := range parts {
		key, what := parseKey(strings.Trim(part, blanks))
		if what != "" {
			return "", fmt.Sprintf("key %d: %s", i+1, what)
		}
		list = append(list, key)
	}
	return "[" + strings.Join(list, ",") + "]", ""
}

func parseKey(text string) (json, what string) {
	if text == "" {
		return "", "is empty; a key without a function is none"
	}
	sides := split(text, '=', 2)
	head, dial, dials := strings.Cut(sides[0], ":")
	kind, line, lined := strings.Cut(head, "/")
	kind = strings.Trim(kind, blanks)
	json = `{"type":` + quote(kind)
	if !slices.Contains(profile.KeyTypes, kind) {
		return "", "type: is none of " + strings.Join(profile.KeyTypes, ", ")
	}
	for _, c := range []struct {
		there bool
		at    int
		text  string
	}{
		{lined, profile.KeyLine, line},
		{dials, profile.KeyValue, unescape(dial)},
		{len(sides) == 2, profile.KeyLabel, unescape(sides[len(sides)-1])},
	} {
		if !c.there {
			continue
		}
		f := &profile.Key.Fields[c.at]
		v, what := value(f, c.text)
		if what == "" && v == "" {
			what = "is empty"
		}
		if what != "" {
			return "", f.Name + ": " + what
		}
		json += "," + quote(f.Name) + ":" + v
	}
	return json + "}", ""
}

// split cuts text at a character that has no backslash before it, into n parts at
// most, and leaves the backslashes.
func split(text string, at byte, n int) (parts []string) {
	start := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == at && len(parts)+1 != n:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// unescape takes the backslashes away.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
