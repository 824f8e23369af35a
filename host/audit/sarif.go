package audit

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
)

type sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name  string      `json:"name"`
			Rules []sarifRule `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifRule struct {
	ID          string    `json:"id"`
	Description sarifText `json:"shortDescription"`
	Default     struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

// SARIF writes the report in the Static Analysis Results Interchange Format 2.1.0
// (OASIS). The key of a document and the path inside of it are the logical location.
func (r *Report) SARIF(w io.Writer) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name = "stagger"
	for _, rule := range Rules {
		s := sarifRule{ID: rule.ID, Description: sarifText{rule.Text}}
		s.Default.Level = rule.Level
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, s)
	}
	for _, f := range r.Findings {
		var at sarifLocation
		at.Physical.Artifact.URI = uri(f.File)
		at.Physical.Region.StartLine = f.Line
		text := f.Message
		if f.Path != "" {
			text = f.Path + ": " + text
		}
		if f.Key != "" {
			text = f.Key + ": " + text
			name := f.Key
			if f.Path != "" {
				name += "#" + f.Path
			}
			at.Logical = []sarifLogical{{name}}
		}
		run.Results = append(run.Results, sarifResult{f.Rule, RuleOf(f.Rule), f.Level, sarifText{text}, []sarifLocation{at}})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(sarif{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// uri is the URI of a file: relative where its name is.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
