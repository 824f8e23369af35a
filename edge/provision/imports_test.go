package provision_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/scanner"
	gotoken "go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed are the packages outside of the standard library that the core links.
// Each one is code that handles secrets in somebody else's hands.
var allowed = []string{
	"github.com/cespare/xxhash/v2",
	"github.com/tidwall/gjson", "github.com/tidwall/match", "github.com/tidwall/pretty",
}

// banned must not be imported by our own packages: some do not run under TinyGo,
// some make the module several times as large, and the others would let the
// answer depend on something that is not in the request.
var banned = []string{
	"bufio", "context", "crypto", "database", "embed", "encoding/json", "encoding/xml", "errors", "flag", "fmt", "html", "io", "log", "maps",
	"math/rand", "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "sort", "sync", "syscall", "testing", "text", "time",
}

func TestImports(t *testing.T) {
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports", "stagger/edge")
	// As the module is built: what is for tools alone is not part of it.
	command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var foreign []string
	own := 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Standard   bool
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Standard:
		case p.ImportPath == "stagger/vendors" || p.ImportPath == "stagger/edge" || strings.HasPrefix(p.ImportPath, "stagger/edge/"):
			own++
			for _, i := range p.Imports {
				for _, b := range banned {
					if i == b || strings.HasPrefix(i, b+"/") {
						t.Errorf("%s imports %s", p.ImportPath, i)
					}
				}
			}
		default:
			foreign = append(foreign, p.ImportPath)
		}
	}
	if own < 8 {
		t.Errorf("only %d packages of our own", own)
	}
	if slices.Sort(foreign); !slices.Equal(foreign, allowed) {
		t.Errorf("the core links %q", foreign)
	}
}

// A new vendor is a folder of data. Comments may take one for an example.
func TestNoVendorInTheCore(t *testing.T) {
	packs, err := filepath.Glob("../../vendors/*/pack.json")
	if err != nil || len(packs) == 0 {
		t.Fatalf("no vendor packs: %v", err)
	}
	files := 0
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		set := gotoken.NewFileSet()
		s.Init(set.AddFile(path, -1, len(source)), source, nil, 0)
		for {
			at, kind, text := s.Scan()
			if kind == gotoken.EOF {
				return nil
			}
			for _, file := range packs {
				if vendor := filepath.Base(filepath.Dir(file)); strings.Contains(strings.ToLower(text), vendor) {
					t.Errorf("%s: %s names the vendor %q", set.Position(at), text, vendor)
				}
			}
		}
	})
	if err != nil || files < 20 {
		t.Errorf("%d files: %v", files, err)
	}
}
