package report

import (
	"html/template"
	"io"
	"strings"

	"stagger/host/chart"
)

// A Page is one file with everything in it.
type Page struct {
	Title string
	// Facts are the numbers that it is about, each a name and a value.
	Facts    [][2]string
	Sections []Section
}

// A Section is one part of a page: a text, and a figure or a table or both.
type Section struct {
	Heading, Text string
	Figure        *chart.Figure
	// Table has the heading first.
	Table [][]string
}

// SVG is the figure, or nothing.
func (s Section) SVG() (template.HTML, error) {
	if s.Figure == nil {
		return "", nil
	}
	var b strings.Builder
	err := s.Figure.WriteTo(&b, false)
	// The figure escapes every text of its own.
	return template.HTML(b.String()), err
}

// A cell is one of a table. Words are to the left, numbers to the right.
type cell struct {
	Text  string
	Words bool
}

// Rows is the table. A column without any number has words in it.
func (s Section) Rows() [][]cell {
	numbers := map[int]bool{}
	for i, row := range s.Table {
		for j, text := range row {
			if i > 0 && text != "" && strings.IndexByte("0123456789", text[0]) >= 0 {
				numbers[j] = true
			}
		}
	}
	rows := make([][]cell, len(s.Table))
	for i, row := range s.Table {
		for j, text := range row {
			rows[i] = append(rows[i], cell{text, !numbers[j]})
		}
	}
	return rows
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	return page.Execute(w, struct {
		*Page
		Style template.CSS
	}{p, template.CSS(chart.Style)})
}

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{{.Title}}</title>
<style>
{{.Style}}
:root{--back:#f4f6f8;--paper:#fff;--ink:#1f2933;--soft:#52606d;--line:#dde3e9}
@media (prefers-color-scheme:dark){:root{--back:#0f141a;--paper:#161c23;--ink:#e4e7eb;--soft:#a3b0bd;--line:#344150}}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:900px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:26px;line-height:1.25;margin:0 0 14px}
h2{font-size:19px;margin:0 0 4px}
p{margin:0 0 12px;color:var(--soft);max-width:70ch}
section{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:18px 20px;margin:0 0 18px}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:8px 18px;margin:0 0 22px}
dt{color:var(--soft);font-size:13px}dd{margin:0;font-variant-numeric:tabular-nums}
svg.chart{display:block;width:100%;min-width:620px;height:auto}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:5px 7px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
.words{text-align:left}
th{color:var(--soft);font-weight:600}
</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<dl>{{range .Facts}}<div><dt>{{index . 0}}</dt><dd>{{index . 1}}</dd></div>{{end}}</dl>
{{range .Sections}}<section>
<h2>{{.Heading}}</h2>
<p>{{.Text}}</p>
{{- if .SVG}}
<div class="wide">{{.SVG}}</div>
{{- end}}
{{- if .Table}}
<div class="wide"><table>
{{range $i, $row := .Rows}}<tr>{{range $row}}{{if $i}}<td{{if .Words}} class="words"{{end}}>{{.Text}}</td>{{else}}<th scope="col"{{if .Words}} class="words"{{end}}>{{.Text}}</th>{{end}}{{end}}</tr>
{{end}}</table></div>
{{- end}}
</section>
{{end}}</main>
</body>
</html>
`))
