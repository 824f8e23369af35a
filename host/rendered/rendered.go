// Package rendered reads back from a phone's file what the phone is told.
//
// It owns one question: which number of this file is the value of this timer. The
// answer comes from the core alone and knows no vendor and no format: the file is
// rendered for two other intervals, or times of the day, without a window, and the
// number is where these two differ. It must never compute a value, and never keep a file.
package rendered

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"stagger/edge/profile"
	"stagger/edge/provision"
	"stagger/edge/spread"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/fleet"
	"stagger/host/inspect"
)

// ErrAbsent is that of a file which does not have the timer: the phone has no such
// duty, as one that is staged has no subscription.
var ErrAbsent = errors.New("the file does not depend on this timer")

// A Reader reads values from files that the core renders.
type Reader struct {
	Core  engine.Engine
	Store exchange.Store
	// Keys are the master secrets, the current one first.
	Keys []string

	// places are the beginnings of lines before a value, by vendor, model and
	// timer: devices of one model have the same.
	places map[string]string
	// tenants are the documents of tenants as render needs them.
	tenants map[string]string
}

// Value is the value of the named timer in the file of a device, in seconds; of a time
// of the day, those after midnight.
func (r *Reader) Value(ctx context.Context, d *inspect.Device, s profile.Spread) (uint64, error) {
	file, err := r.render(ctx, r.Store, d)
	if err != nil {
		return 0, err
	}
	key := d.Pack.Vendor + " " + d.Model + " " + s.Name
	if seconds, ok := value(file, r.places[key], s); ok {
		return seconds, nil
	}
	place, err := r.place(ctx, d, s)
	if err != nil {
		return 0, fmt.Errorf("%s: %s: %w", d.MAC, s.Name, err)
	}
	seconds, ok := value(file, place, s)
	if !ok {
		return 0, fmt.Errorf("%s: %s: its file has no %q", d.MAC, s.Name, place)
	}
	if r.places == nil {
		r.places = map[string]string{}
	}
	r.places[key] = place
	return seconds, nil
}

// value is the value of a timer that stands behind place, in seconds.
func value(file, place string, s profile.Spread) (uint64, bool) {
	if s.Timer.TimeOfDay() {
		return timeOfDay(file, place, s.Timer.Unit)
	}
	units, ok := number(file, place)
	return units * s.Timer.Unit, ok
}

// render asks the core for the device's configuration, the way a phone does that
// has nothing to show but its token: what else a tenant wants of phones is no
// part of the file's timers, and is left out.
func (r *Reader) render(ctx context.Context, store exchange.Store, d *inspect.Device) (string, error) {
	key := fleet.TenantKey(d.Tenant)
	text, ok := r.tenants[key]
	if !ok {
		var err error
		if text, err = r.changed(ctx, key, func(tenant map[string]any) {
			tenant["auth"] = "token"
			delete(tenant, "client_cert")
		}); err != nil {
			return "", err
		}
		if r.tenants == nil {
			r.tenants = map[string]string{}
		}
		r.tenants[key] = text
	}
	request := wire.Request{
		Flags: wire.FlagTLS, Method: "GET", Keys: r.Keys,
		Target: "/" + d.Tenant + "/" + provision.Token(r.Keys[0], d.Tenant, d.MAC, d.Generation) + "/" + d.Config(),
	}
	response, err := exchange.Answer(ctx, r.Core, overlay{store, key, text}, &request)
	if err != nil {
		return "", fmt.Errorf("%s: %w", d.MAC, err)
	}
	if response.Status != 200 {
		return "", fmt.Errorf("%s: the phone gets %d", d.MAC, response.Status)
	}
	return string(response.Body), nil
}

// changed is a document with some fields changed.
func (r *Reader) changed(ctx context.Context, key string, change func(map[string]any)) (string, error) {
	text, _, err := r.Store.Get(ctx, key)
	if err != nil {
		return "", err
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return "", fmt.Errorf("%s is not JSON", key) // and not the error, which quotes it
	}
	change(document)
	out, err := json.Marshal(document)
	return string(out), err
}

// behind is what stands behind place at the beginning of a line.
func behind(file, place string) string {
	if place == "" {
		return ""
	}
	for line := range strings.Lines(file) {
		if rest, ok := strings.CutPrefix(line, place); ok {
			return rest
		}
	}
	return ""
}

// number is the number that stands behind place at the beginning of a line.
func number(file, place string) (uint64, bool) {
	rest := behind(file, place)
	n := uint64(0)
	digits := 0
	for ; digits < len(rest) && digits < 12 && rest[digits] >= '0' && rest[digits] <= '9'; digits++ {
		n = n*10 + uint64(rest[digits]-'0')
	}
	return n, digits > 0
}

var hourMinute = regexp.MustCompile(`^([01][0-9]|2[0-3])[^0-9]([0-5][0-9])`)

// timeOfDay is the time that stands behind place, in seconds after midnight: two digits
// each for hour and minute with one character between, or a number of units.
func timeOfDay(file, place string, unit uint64) (uint64, bool) {
	if m := hourMinute.FindStringSubmatch(behind(file, place)); m != nil {
		hour, _ := strconv.ParseUint(m[1], 10, 64)
		minute, _ := strconv.ParseUint(m[2], 10, 64)
		return hour*3600 + minute*60, true
	}
	n, ok := number(file, place)
	return n * unit, ok
}

// place finds what stands before the value of a timer.
func (r *Reader) place(ctx context.Context, d *inspect.Device, s profile.Spread) (string, error) {
	// No digit in common, so that what two files share ends where the number
	// begins.
	pairs := [][2]uint64{{1111, 2222}, {333, 444}, {55, 66}, {7, 8}}
	if s.Timer.TimeOfDay() {
		// 11:11 and 22:22, and 671 and 1342 where minutes are counted.
		pairs = [][2]uint64{{(11*3600 + 11*60) / s.Timer.Unit, (22*3600 + 22*60) / s.Timer.Unit}}
	}
	for _, pair := range pairs {
		if pair[0] < s.Timer.Min || s.Timer.Max != 0 && pair[1] > s.Timer.Max || pair[1]*s.Timer.Unit > profile.MaxSeconds {
			continue
		}
		var files [2]string
		for i, units := range pair {
			store, err := r.with(ctx, d, s, units*s.Timer.Unit)
			if err != nil {
				return "", err
			}
			if files[i], err = r.render(ctx, store, d); err != nil {
				return "", err
			}
		}
		place, err := differs(files[0], files[1])
		if err != nil || !s.Timer.TimeOfDay() {
			return place, err
		}
		// How a time is written, vendors do not agree on: what is read must be what
		// was asked for.
		for i, units := range pair {
			if got, ok := timeOfDay(files[i], place, s.Timer.Unit); !ok || got != units*s.Timer.Unit {
				return "", errors.New("the time of the day in its file is in no form that is known here")
			}
		}
		return place, nil
	}
	return "", errors.New("the phone's range is too narrow to find the value in its file")
}

// differs is the beginning of the first line that two files do not share.
func differs(a, b string) (string, error) {
	lines := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(lines) {
			break
		}
		if other := lines[i]; line != other {
			n := 0
			for n < len(line) && n < len(other) && line[n] == other[n] {
				n++
			}
			return line[:n], nil
		}
	}
	return "", ErrAbsent
}

// with is the store with another interval, or time of the day, for one timer of a
// device.
func (r *Reader) with(ctx context.Context, d *inspect.Device, s profile.Spread, seconds uint64) (exchange.Store, error) {
	key := fleet.DeviceKey(d.Tenant, d.MAC)
	kind, index, _ := strings.Cut(s.Name, ".")
	text, err := r.changed(ctx, key, func(device map[string]any) {
		timers, ok := device["timers"].(map[string]any)
		if !ok {
			timers = map[string]any{}
		}
		own := map[string]any{"window": 0, "floor": 1}
		switch {
		case s.Timer.TimeOfDay():
			own["at"] = string(spread.AppendClock(nil, seconds))
			own["interval"] = s.Timer.Interval
		case kind != "register":
			own["interval"] = seconds
		}
		// Registrations have their interval in the line, or all would change.
		timers[kind] = own
		device["timers"] = timers
		lines, _ := device["lines"].([]any)
		for i, l := range lines {
			line, ok := l.(map[string]any)
			if !ok || kind != "register" {
				continue
			}
			number := fmt.Sprint(i + 1)
			if own, ok := line["index"]; ok {
				number = fmt.Sprint(own)
			}
			if number == index {
				line["register"] = seconds
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return overlay{r.Store, key, text}, nil
}

// overlay is a store with one document replaced.
type overlay struct {
	exchange.Store
	key, value string
}

func (o overlay) Get(ctx context.Context, key string) (string, bool, error) {
	if key == o.key {
		return o.value, true, nil
	}
	return o.Store.Get(ctx, key)
}
