// Package inspect looks at a device the way the core does, outside of a request:
// the same parsing, merging and rendering, for commands that check and explain. It
// decides nothing itself and serves nobody.
package inspect

import (
	"errors"
	"fmt"
	"strings"

	"stagger/edge/pack"
	"stagger/edge/profile"
	"stagger/edge/provision"
	"stagger/edge/record"
	"stagger/edge/template"
	"stagger/vendors"
)

// Device is a device with everything that its two documents say about it.
type Device struct {
	MAC, Tenant string
	Generation  int64
	State       string
	Model       string
	// Base is the tenant's URL; the device's own has tenant and token behind it.
	Base string
	// Auth is what the phone has to show: "token", "basic", "digest" or "open".
	Auth string
	Pack *pack.Pack
	// Timers are the device's timers and what became of them.
	Timers []profile.Spread
	// Cohort is what the rollout of the tenant means for the device.
	Cohort profile.Cohort
	// Template is the version of the pack's templates that its profile chooses.
	Template string

	phone record.Record
}

// Read reads the documents of a device and of its tenant.
func Read(tenantDocument, deviceDocument string) (*Device, error) {
	a := record.NewArena(1024)
	tenant, bad := profile.Parse(profile.Tenant, tenantDocument, a)
	if bad != nil {
		return nil, fmt.Errorf("tenant: %w", bad)
	}
	device, bad := profile.Parse(profile.Device, deviceDocument, a)
	if bad != nil {
		return nil, bad
	}
	b := profile.Builder{Arena: a}
	tenant, cohort := b.Rollout(tenant, device[profile.DeviceMAC].Str)
	d := &Device{
		Cohort: cohort,
		MAC:    device[profile.DeviceMAC].Str, Tenant: tenant[profile.TenantID].Str,
		Generation: device[profile.DeviceGeneration].Num, State: profile.State(tenant, device),
		Base: tenant[profile.TenantURL].Str, Auth: tenant[profile.TenantAuth].Str,
	}
	if d.Auth == "" {
		d.Auth = "token"
	}
	switch {
	case d.MAC == "":
		return nil, errors.New("device: is required")
	case d.Tenant == "" || device[profile.DeviceTenant].Str != d.Tenant:
		return nil, errors.New("tenant: is not that of the device")
	case d.Base == "":
		return nil, errors.New("tenant: url: is required")
	}
	vendor := profile.VendorOf(tenant, device)
	if vendor == "" {
		return nil, errors.New("vendor: is required")
	}
	if d.Pack = provision.Pack(vendors.Packs, vendor); d.Pack == nil {
		return nil, errors.New("vendor: is not a vendor that this version knows")
	}
	// The token's length is that of any; the token itself is of no matter here.
	phone, bad := b.Build(tenant, device, d.Pack, d.URL("token-of-the-device-----------"))
	if bad != nil {
		return nil, bad
	}
	d.phone, d.Timers, d.Template, d.Model = phone, b.Timers, b.Template, phone[profile.Model].Str
	return d, nil
}

// URL is the device's provisioning URL.
func (d *Device) URL(token string) string {
	base := d.Base
	if base != "" && base[len(base)-1] == '/' {
		base = base[:len(base)-1]
	}
	return base + "/" + d.Tenant + "/" + token + "/"
}

// Config is the name of the file that holds the device's configuration.
func (d *Device) Config() string {
	for i := range d.Pack.Files {
		if f := &d.Pack.Files[i]; f.Kind == "config" {
			return FileName(f, d.MAC, d.Model)
		}
	}
	return ""
}

// FileName is the name under which a phone of this MAC and model asks for a file that
// has the MAC in its name.
func FileName(f *pack.File, mac, model string) string {
	before, after, named := strings.Cut(f.Prefix, "*")
	if !named {
		return f.Prefix + mac + f.Suffix
	}
	// A name has letters and digits in that place, a model may have more.
	word := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return -1
	}, model)
	return before + word[:min(len(word), 16)] + after + mac + f.Suffix
}

// Check says whether the device gets its files: it renders all of them. A nil
// device document checks the tenant alone.
func Check(tenantDocument, deviceDocument string) error {
	if deviceDocument == "" {
		_, bad := profile.Parse(profile.Tenant, tenantDocument, record.NewArena(256))
		if bad != nil {
			return bad
		}
		return nil
	}
	d, err := Read(tenantDocument, deviceDocument)
	if err != nil {
		return err
	}
	return d.Check()
}

// Check renders all files of the device and says what stops one.
func (d *Device) Check() error {
	for i := range d.Pack.Files {
		f := &d.Pack.Files[i]
		if f.Program == nil {
			continue
		}
		if _, err := d.Render(f); err != nil {
			return err
		}
	}
	return nil
}

// Render renders a file of the device's pack, with a token that is none.
func (d *Device) Render(f *pack.File) ([]byte, error) {
	body, stopped := new(template.Machine).Run(profile.Program(d.phone, f, d.Template), nil, d.phone)
	if stopped != nil {
		return nil, fmt.Errorf("%s/%w", d.Pack.Vendor, stopped)
	}
	return body, nil
}

// Place takes an error of Read or Check apart: where in the document something is
// wrong, or "", and what.
func Place(err error) (path, what string) {
	if err == nil {
		return "", ""
	}
	if bad := (*profile.Error)(nil); errors.As(err, &bad) && err.Error() == bad.Error() {
		return bad.Path, bad.What
	}
	// Other errors of a field begin with it.
	if field, what, ok := strings.Cut(err.Error(), ": "); ok && profile.Device.Index(field) >= 0 {
		return field, what
	}
	return "", err.Error()
}
