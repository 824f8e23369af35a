// Package kv is Workers KV as seen from an operator's machine: the files that load a
// fleet into it, and a store that reads it through wrangler.
//
// It owns the limits and the formats of "wrangler kv". It must never write to KV
// itself, and never hand a document to anything but a file or the caller.
package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"stagger/host/fleet"
	"stagger/host/seal"
)

// Limits of one request to KV
// (https://developers.cloudflare.com/kv/platform/limits/ and the API's reference).
// wrangler sends the pairs of a file in as many requests as it likes, none of which
// is larger than the file.
const (
	MaxPairs = 10_000
	MaxBytes = 100_000_000
)

// limits are those of a file, for tests to lower.
type limits struct{ pairs, bytes int }

// A Load is what is to be in KV, and what is there.
type Load struct {
	Fleet *fleet.Store
	// Old is what was loaded before; nil for nothing. Documents that are the same
	// are left out, and those that are no longer in Fleet are deleted.
	Old *fleet.Store
	// Stale are the keys of documents of Old that lie in another form than they
	// would now, so that they are loaded although they are the same.
	Stale map[string]bool
	// Seal, unless nil, seals what is loaded.
	Seal *seal.Keys
	// Show, unless nil, is told what share is done.
	Show func(share float64)
}

// A File is one that was written.
type File struct {
	Name  string `json:"file"`
	Pairs int    `json:"pairs"`
	Bytes int    `json:"bytes"`
}

// A Summary says what a load does. Form counts documents that are the same and only
// lie in another form than they would now: not sealed, or under another key.
type Summary struct {
	Put       []File `json:"put"`
	Delete    []File `json:"delete"`
	Added     int    `json:"added"`
	Changed   int    `json:"changed"`
	Form      int    `json:"form"`
	Deleted   int    `json:"deleted"`
	Unchanged int    `json:"unchanged"`
	Sealed    bool   `json:"sealed"`
}

// Write writes the files for "wrangler kv bulk put", put-0001.json and so on, and for
// "wrangler kv bulk delete", delete-0001.json, into a folder. Keys are in order: the
// same load without sealing gives the same bytes.
func (l *Load) Write(folder string) (*Summary, error) {
	return l.write(folder, limits{MaxPairs, MaxBytes})
}

func (l *Load) write(folder string, most limits) (*Summary, error) {
	s := &Summary{Put: []File{}, Delete: []File{}, Sealed: l.Seal != nil}
	put := &list{folder: folder, kind: "put", most: most, files: &s.Put}
	keys := l.Fleet.Keys()
	for i, key := range keys {
		if l.Show != nil && i%1000 == 0 {
			l.Show(float64(i) / float64(len(keys)))
		}
		document, changed := l.changed(key, s)
		if !changed {
			continue
		}
		if l.Seal != nil {
			var err error
			if document, err = l.Seal.Seal(key, document); err != nil {
				return nil, err
			}
		}
		if err := put.add(pair{key, document}); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := put.end(); err != nil {
		return nil, err
	}
	if l.Old == nil {
		return s, nil
	}
	gone := &list{folder: folder, kind: "delete", most: most, files: &s.Delete}
	for _, key := range l.Old.Keys() {
		if _, there := get(l.Fleet, key); there {
			continue
		}
		s.Deleted++
		if err := gone.add(key); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return s, gone.end()
}

// changed returns the document under key and whether it has to be loaded.
func (l *Load) changed(key string, s *Summary) (document string, changed bool) {
	document, _ = get(l.Fleet, key)
	if l.Old == nil {
		s.Added++
		return document, true
	}
	switch old, there := get(l.Old, key); {
	case !there:
		s.Added++
	case old != document:
		s.Changed++
	case l.Stale[key]:
		s.Form++
	default:
		s.Unchanged++
		return document, false
	}
	return document, true
}

// get reads a fleet, which never fails.
func get(store *fleet.Store, key string) (string, bool) {
	document, there, _ := store.Get(context.Background(), key)
	return document, there
}

type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A list is a JSON list that goes on in another file where one is full.
type list struct {
	folder, kind string
	most         limits
	files        *[]File

	content bytes.Buffer
	pairs   int
}

const listEnd = "\n]\n"

// add adds an element, on a line of its own.
func (l *list) add(element any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	// wrangler writes them anew, in the shortest way there is. Here it may be no
	// shorter, or a file that fits would make a request that does not.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(element); err != nil {
		return err
	}
	text := bytes.TrimSuffix(line.Bytes(), []byte("\n"))
	if l.pairs > 0 && (l.pairs == l.most.pairs || l.content.Len()+len(",\n")+len(text)+len(listEnd) > l.most.bytes) {
		if err := l.end(); err != nil {
			return err
		}
	}
	if l.pairs == 0 {
		// On the first line, so that the number of a line is that of a pair.
		l.content.WriteString("[")
	} else {
		l.content.WriteString(",\n")
	}
	l.content.Write(text)
	if l.pairs++; l.content.Len()+len(listEnd) > l.most.bytes {
		return errors.New("is too large for a request to KV")
	}
	return nil
}

// end writes the file that is begun, if one is.
func (l *list) end() error {
	if l.pairs == 0 {
		return nil
	}
	l.content.WriteString(listEnd)
	name := fmt.Sprintf("%s-%04d.json", l.kind, len(*l.files)+1)
	if err := write(filepath.Join(l.folder, name), l.content.Bytes()); err != nil {
		return err
	}
	*l.files = append(*l.files, File{name, l.pairs, l.content.Len()})
	l.content.Reset()
	l.pairs = 0
	return nil
}

// write writes a new file, for its owner only, as far as the disk.
func write(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
