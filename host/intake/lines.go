package intake

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"stagger/host/fleet"
)

// JSONLines reads documents of devices, one a line, and passes them on as they are.
func JSONLines(name string, data []byte, f *Fleet, show func(float64)) *Result {
	r := newReader(name, f, show)
	data = bytes.TrimPrefix(data, bom)
	var starts []int
	for i := 0; i < len(data); {
		starts = append(starts, i)
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
	}
	starts = append(starts, len(data))
	add := func(row Row) {
		row.Raw = data[starts[row.Line-1]:starts[row.Line]]
		r.result.Rows = append(r.result.Rows, row)
		r.show(float64(row.Line) / float64(len(starts)))
	}
	last := 0
	_ = fleet.Scan(name, bytes.NewReader(data), func(d fleet.Document) {
		row := Row{Line: d.Line}
		if d.MAC == "" {
			r.fail(&row, "", "is the document of a tenant, not of a device")
		} else {
			r.claim(&row, d.MAC, d.Tenant, "device")
			if path, what := r.judge(d.Tenant, d.Text); what != "" {
				r.fail(&row, path, what)
			}
			for _, path := range generated(d.Text) {
				r.fail(&row, path, "is the word that asks for a generated one, which only a CSV may")
			}
			row.Document = d.Text
		}
		add(row)
	}, func(err *fleet.Error) {
		// Of one line there can be several.
		r.result.Problems = append(r.result.Problems, &Problem{File: name, Line: err.Line, What: err.What})
		if err.Line != last {
			last = err.Line
			add(Row{Line: err.Line, Bad: true})
		}
	}) // reading from memory does not fail
	slices.SortStableFunc(r.result.Problems, func(a, b *Problem) int { return a.Line - b.Line })
	return &r.result
}

// generated are the paths of secrets that are the word of a CSV for "make one".
func generated(document string) (paths []string) {
	if isGenerate(gjson.Get(document, "admin_password").Str) {
		paths = append(paths, "admin_password")
	}
	for i, line := range gjson.Get(document, "lines").Array() {
		if isGenerate(line.Get("password").Str) {
			paths = append(paths, path("lines", i, "password"))
		}
	}
	return paths
}
