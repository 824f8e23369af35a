package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"stagger/edge/pack/source"
	"stagger/edge/profile"
	"stagger/host/inspect"
	"stagger/vendors"
)

// kinds are the kinds of HTTP authentication that each vendor's phones can do.
func kinds() (map[string][]string, error) {
	descriptors, err := source.Descriptors(vendors.Descriptors)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, d := range descriptors {
		of[d.Vendor] = d.Auth.Kinds
	}
	return of, nil
}

// demands looks for what a tenant asks for and its phones cannot show: a device has it
// from its tenant, and all devices of one vendor alike.
func (w *worker) demands(device *inspect.Device, tenant gjson.Result, add func(path, message string)) {
	vendor := device.Pack.Vendor
	if auth := tenant.Get("auth").Str; auth == "basic" || auth == "digest" {
		if !slices.Contains(w.kinds[vendor], auth) {
			add("auth", fmt.Sprintf("asks for %s, which phones of %s are not known to do", auth, vendor))
		}
	}
	if !tenant.Get("client_cert").Bool() {
		return
	}
	if len(device.Pack.Certificate.Issuers) == 0 {
		add("client_cert", "asks for a certificate, and the issuer of those of "+vendor+" is not known: every request is refused")
	}
	if strings.HasPrefix(tenant.Get("url").Str, "http://") {
		add("client_cert", "asks for a certificate, and the URL is without TLS, where there are none: every request is refused")
	}
}

// settings looks for what a document says that has no effect beside the rest of it.
// from is the document of the device, and defaults its tenant's.
func (w *worker) settings(device *inspect.Device, from, defaults gjson.Result, add func(path, message string, own bool)) {
	if device.Pack.Boot.Unit == 0 {
		message := "phones of " + device.Pack.Vendor + " have no such delay: it has no effect"
		switch own, theirs := from.Get("timers.boot"), defaults.Get("timers.boot"); {
		case own.Exists():
			if own.Int() != 0 {
				add("timers.boot", message, true)
			}
		case theirs.Int() != 0:
			add("timers.boot", message, false)
		}
	}
	if device.Pack.Checkin.Days == 0 && from.Get("timers.checkin.at").Exists() {
		add("timers.checkin.at", "phones of "+device.Pack.Vendor+" count an interval and do not look at a clock: it has no effect", true)
	}
	from.Get("extra").ForEach(func(vendor, _ gjson.Result) bool {
		if vendor.Str != device.Pack.Vendor {
			add("extra."+w.known(vendor.Str), "is for phones of another vendor: it has no effect", true)
		}
		return true
	})
	line := defaults.Get("line")
	for i, l := range from.Get("lines").Array() {
		merged := func(name string) (value gjson.Result, own bool) {
			if value = l.Get(name); value.Exists() {
				return value, true
			}
			return line.Get(name), false
		}
		place := func(name string, own bool) string {
			if own {
				return fmt.Sprintf("lines[%d].%s", i, name)
			}
			return "line." + name
		}
		proxy, _ := merged("outbound_proxy")
		if port, own := merged("outbound_port"); port.Exists() && !proxy.Exists() {
			add(place("outbound_port", own), "is a port of an outbound proxy, and there is none: it has no effect", own)
		}
		transport, _ := merged("transport")
		if port, own := merged("port"); port.Exists() && transport.Str == "dns-naptr" {
			add(place("port", own), "is a port beside dns-naptr, where the DNS names the port", own)
		}
	}
	keys, own := from.Get("keys"), true
	if !keys.Exists() {
		keys, own = defaults.Get("keys"), false
	}
	if device.State != profile.Active {
		return
	}
	for i, key := range keys.Array() {
		if kind := key.Get("type").Str; key.Get("pickup").Exists() && kind != "blf" {
			add(fmt.Sprintf("keys[%d].pickup", i), "is a pickup code of a key without a lamp: it has no effect", own)
		}
	}
}

// optional are the fields of a phone that not every family has a setting for. Which do,
// only their templates know.
var optional = []string{"phonebook", "firmware_url", "time_zone", "ntp", "ntp[1]", "admin_password", "codecs"}

// unused looks for optional fields that the files of an active device do not depend on.
func (w *worker) unused(device *inspect.Device, from, defaults gjson.Result, add func(path, message string, own bool)) {
	if device.State != profile.Active {
		return
	}
	for _, path := range optional {
		field, item, second := strings.Cut(path, "[")
		value, own := from.Get(field), true
		if !value.Exists() {
			value, own = defaults.Get(field), false
		}
		if !value.Exists() || second && len(value.Array()) < 2 {
			continue
		}
		// Devices of one model and firmware have the same templates; one of each is enough.
		key := strings.Join([]string{device.Pack.Vendor, device.Model, from.Get("firmware").Str, defaults.Get("firmware").Str, path}, " ")
		used, known := w.used[key]
		if !known {
			used = depends(device, from.Raw, defaults.Raw, field, item != "")
			w.used[key] = used
		}
		if !used {
			add(path, "has no effect on models of "+device.Pack.Vendor+" that are not known to have a setting for it", own)
		}
	}
}

// depends says whether any file of a device is another one without a field, or
// without all of a list but the first. What cannot be rendered without it depends on it.
func depends(device *inspect.Device, from, defaults, field string, first bool) bool {
	for _, text := range []*string{&from, &defaults} {
		var document map[string]any
		if json.Unmarshal([]byte(*text), &document) != nil {
			return true
		}
		if list, ok := document[field].([]any); first && ok && len(list) > 1 {
			document[field] = list[:1]
		} else if !first {
			delete(document, field)
		}
		shorter, err := json.Marshal(document)
		if err != nil {
			return true
		}
		*text = string(shorter)
	}
	without, err := inspect.Read(defaults, from)
	if err != nil {
		return true
	}
	for i := range device.Pack.Files {
		f := &device.Pack.Files[i]
		if f.Program == nil {
			continue
		}
		body, err := device.Render(f)
		other, bad := without.Render(f)
		if err != nil || bad != nil || !bytes.Equal(body, other) {
			return true
		}
	}
	return false
}

// known is the name of a vendor, or a word for one that this version does not know,
// which could be anything.
func (w *worker) known(vendor string) string {
	if _, ok := w.kinds[vendor]; ok {
		return vendor
	}
	return "*"
}
