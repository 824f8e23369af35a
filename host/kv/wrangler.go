package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// A Wrangler is the live KV, read through wrangler, which has the account. Every
// document is a run of it, of a second or more, and is read once: for looking, not
// for serving. It is safe for concurrent use.
type Wrangler struct {
	// Binding is that of the namespace in the configuration.
	Binding string
	// Config is the path of wrangler.toml; empty leaves it to wrangler to find one.
	Config string
	// Local, unless empty, is the folder of a local KV ("wrangler dev --persist-to"),
	// which is then read in the place of the account's.
	Local string

	mu   sync.Mutex
	seen map[string]value
}

type value struct {
	text  string
	found bool
}

// absent is what wrangler prints for a key that a local KV does not have, with
// status 0. It is no document.
const absent = "Value not found"

// notFound is the end of its error for one that the account's does not have.
const notFound = " - 404: "

// Get returns what lies under key.
func (w *Wrangler) Get(ctx context.Context, key string) (string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v, ok := w.seen[key]; ok {
		return v.text, v.found, nil
	}
	text, found, err := w.get(ctx, key)
	if err == nil {
		if w.seen == nil {
			w.seen = map[string]value{}
		}
		w.seen[key] = value{text, found}
	}
	return text, found, err
}

func (w *Wrangler) get(ctx context.Context, key string) (string, bool, error) {
	// npx runs what is installed, and neither asks nor downloads.
	arguments := []string{"--no-install", "wrangler", "kv", "key", "get", key, "--binding", w.Binding}
	if w.Config != "" {
		arguments = append(arguments, "--config", w.Config)
	}
	if w.Local != "" {
		arguments = append(arguments, "--local", "--persist-to", w.Local)
	} else {
		arguments = append(arguments, "--remote")
	}
	command := exec.CommandContext(ctx, "npx", arguments...)
	command.Env = environment(os.Environ())
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err == nil && strings.TrimSpace(out.String()) == absent:
		return "", false, nil
	case err == nil:
		return out.String(), true, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", false, errors.New("there is no npx, which comes with Node.js, to run wrangler with")
	case strings.Contains(errs.String(), notFound):
		return "", false, nil
	}
	return "", false, fmt.Errorf("wrangler: %w%s", err, complaint(errs.String()))
}

// environment is that of wrangler: without the master keys, which are not its
// affair, and so that it asks nobody and prints what it is asked for.
func environment(own []string) []string {
	var list []string
	for _, variable := range own {
		if !strings.HasPrefix(variable, "STAGGER_") {
			list = append(list, variable)
		}
	}
	return append(list, "CI=true", "NO_COLOR=1", "WRANGLER_HIDE_BANNER=true", "WRANGLER_SEND_METRICS=false", "WRANGLER_SEND_ERROR_REPORTS=false")
}

// complaint is the first line in which wrangler or npm says what is wrong.
func complaint(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		_, after, found := strings.Cut(line, "[ERROR] ")
		if !found {
			after, found = strings.CutPrefix(line, "npm error ")
		}
		if found && strings.TrimSpace(after) != "" {
			return ": " + strings.TrimSpace(after)
		}
	}
	return ""
}
