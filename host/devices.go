package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stagger/edge/record"
	"stagger/host/fleet"
	"stagger/host/inspect"
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

// openFleet opens the fleet file of a command, checked.
func openFleet(w *world, file string) (*fleet.Store, error) {
	if file == "" {
		return nil, misuse(errors.New("--fleet: the fleet file is required"))
	}
	return fleet.Open(file, w.stdin, inspect.Check)
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
