package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"stagger/edge/record"
	"stagger/host/fleet"
	"stagger/host/inspect"
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
	return u.read(file, check, func(key, text string) (string, error) {
		document, _, err := u.document(key, text)
		return document, err
	})
}

func (u *unsealer) read(file string, check fleet.Check, unseal fleet.Unseal) (*fleet.Store, error) {
	store, err := fleet.Reader{Check: check, Unseal: unseal}.Open(file, u.w.stdin)
	if u.err != nil {
		return nil, u.err // once, and not for each document
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

// find returns the device with this MAC, of whatever tenant.
func find(store *fleet.Store, mac string) (*inspect.Device, error) {
	tenant, ok := store.TenantOf(mac)
	if !ok {
		return nil, fmt.Errorf("the fleet has no device %s", mac)
	}
	ctx := context.Background()
	tenantDocument, _, _ := store.Get(ctx, fleet.TenantKey(tenant))
	deviceDocument, _, _ := store.Get(ctx, fleet.DeviceKey(tenant, mac))
	return inspect.Read(tenantDocument, deviceDocument)
}
