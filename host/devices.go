package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"stagger/edge/record"
	"stagger/host/exchange"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/host/kv"
	"stagger/host/masterkey"
	"stagger/host/seal"
)

// parseMAC reads a MAC in the spellings that people and labels use: with colons,
// dashes, dots or nothing between, in either case.
func parseMAC(text string) (string, error) {
	mac := strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(text))
	if !record.IsMAC(mac) {
		return "", misuse(fmt.Errorf("%q is not the MAC of a device: twelve hexadecimal digits", text))
	}
	return mac, nil
}

// openFleet opens the fleet file of a command, checked. Sealed documents of an export
// of KV are opened with the master keys of the environment.
func openFleet(w *world, file string) (*fleet.Store, error) {
	return (&unsealer{w: w}).open(file, inspect.Check)
}

// An unsealer opens what is sealed in fleet files. It asks for the master keys when
// it comes to the first such document.
type unsealer struct {
	w    *world
	keys keyFlags
	// required refuses documents that are not sealed.
	required bool

	once   sync.Once
	opener *seal.Keys
	err    error // of the master keys
}

func (u *unsealer) open(file string, check fleet.Check) (*fleet.Store, error) {
	if file == "" {
		return nil, misuse(errors.New("--fleet: the fleet file is required"))
	}
	return u.read(file, check, u.text)
}

// text is document, for where it does not matter what it is sealed under.
func (u *unsealer) text(key, text string) (string, error) {
	document, _, err := u.document(key, text)
	return document, err
}

func (u *unsealer) read(file string, check fleet.Check, unseal fleet.Unseal) (*fleet.Store, error) {
	store, err := fleet.Reader{Check: check, Unseal: unseal}.Open(file, u.w.stdin)
	if u.err != nil {
		return nil, u.err // once, and not for each document
	}
	if err == nil && u.required && store.Database() {
		return nil, errors.Join(fmt.Errorf("%s: the documents of a database are not sealed", file), store.Close())
	}
	return store, err
}

// document returns the document that text, which lies under key, stands for. current
// says that it is sealed under the current master key.
func (u *unsealer) document(key, text string) (document string, current bool, err error) {
	if !seal.Sealed(text) && !u.required {
		return text, false, nil
	}
	u.once.Do(func() {
		var secrets []string
		secrets, u.err = u.keys.read(u.w)
		u.opener = seal.New(secrets)
	})
	return u.opener.Open(key, text)
}

// sourceFlags say where a command finds documents: in a fleet file, or in the live KV.
type sourceFlags struct {
	fleet, kv, config, local, tenant string

	keys keyFlags
}

// liveKV begins the value of --kv: what reads it.
const liveKV = "wrangler:"

func (f *sourceFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.fleet, "fleet", "", "fleet file: one JSON document a line, or an export of KV; - for standard input")
	flags.StringVar(&f.kv, "kv", "", "the live KV in the place of a fleet file: "+liveKV+"BINDING, read through npx wrangler")
	flags.StringVar(&f.config, "kv-config", "", "wrangler.toml that has the binding of --kv (default: the one that wrangler finds)")
	flags.StringVar(&f.local, "kv-local", "", "folder of a local KV (wrangler's --persist-to) to read in the place of the account's")
	flags.StringVar(&f.tenant, "tenant", "", "with --kv, the tenant of the devices")
	f.keys.add(c)
}

// given says whether there are documents at all.
func (f *sourceFlags) given() bool { return f.fleet != "" || f.kv != "" }

func (f *sourceFlags) open(w *world) (*documents, error) {
	if f.kv == "" {
		if f.config+f.local+f.tenant != "" {
			return nil, misuse(errors.New("--kv-config, --kv-local and --tenant have no meaning without --kv"))
		}
		store, err := (&unsealer{w: w, keys: f.keys}).open(f.fleet, inspect.Check)
		return &documents{store: store, fleet: store}, err
	}
	binding, ok := strings.CutPrefix(f.kv, liveKV)
	switch {
	case f.fleet != "":
		return nil, misuse(errors.New("--fleet and --kv: one of them"))
	case !ok || binding == "" || strings.HasPrefix(binding, "-"):
		return nil, misuse(errors.New("--kv: " + liveKV + "BINDING, as in " + liveKV + "FLEET"))
	case !record.IsTenant(f.tenant):
		return nil, misuse(errors.New("--tenant: the name of the devices' tenant is required with --kv"))
	}
	secrets, err := f.keys.read(w)
	if err != nil && !errors.Is(err, masterkey.ErrMissing) { // which only sealed documents need
		return nil, err
	}
	live := &kv.Wrangler{Binding: binding, Config: f.config, Local: f.local}
	return &documents{store: seal.Opener{Keys: seal.New(secrets)}.Store(live), tenant: f.tenant}, nil
}

// documents are those that a command works with, wherever they are.
type documents struct {
	store exchange.Store
	// fleet is nil for the live KV, which cannot be searched: tenant is then that of
	// all devices.
	fleet  *fleet.Store
	tenant string
}

// macs are those of all devices.
func (d *documents) macs() ([]string, error) {
	if d.fleet == nil {
		return nil, misuse(errors.New("with --kv a MAC is required"))
	}
	return d.fleet.MACs(), nil
}

// find returns the device with this MAC.
func (d *documents) find(ctx context.Context, mac string) (*inspect.Device, error) {
	tenant := d.tenant
	if d.fleet != nil {
		var ok bool
		if tenant, ok = d.fleet.TenantOf(mac); !ok {
			return nil, fmt.Errorf("the fleet has no device %s", mac)
		}
	}
	var texts [2]string
	for i, key := range []string{fleet.TenantKey(tenant), fleet.DeviceKey(tenant, mac)} {
		text, found, err := d.store.Get(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, fmt.Errorf("the store has no %s", key)
		}
		texts[i] = text
	}
	return inspect.Read(texts[0], texts[1])
}
