// Package waves puts a fleet into an order in which an operator's SIP server can
// tell it to fetch its files, so many phones a second.
//
// It owns the order and the waves. It must never send anything, and never put more
// phones into a second than was asked for. What a NOTIFY reaches is not a phone
// but a SIP user: every phone that is registered as that user reacts. So phones
// are counted and not users, and a phone is told through a user of its own where
// it has one.
package waves

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// A Device is a phone and the users that it registers as, in the order of lines.
type Device struct {
	MAC   string
	Users []User
}

// A User is a SIP user at a server.
type User struct {
	Name   string `json:"user"`
	Server string `json:"server"`
}

// A Call is one NOTIFY.
type Call struct {
	// Wave counts from 1, and Offset is seconds after the beginning of the list.
	Wave   int `json:"wave"`
	Offset int `json:"offset"`
	// MAC is the phone that is meant.
	MAC string `json:"mac"`
	User
	// Phones is how many react, and Also are those that are not meant.
	Phones int      `json:"phones"`
	Also   []string `json:"also"`
}

// Plan puts devices into waves of at most rate phones, every seconds apart. A
// device without a user is left out; every other one is meant or reacts. One that
// reacts a second time, through a user that is another phone's only one, counts a
// second time.
//
// The order is that of a hash of its own (xxHash64 of mac|waves), so that phones
// of one site or one order are not told together, and it is the same each time.
func Plan(devices []Device, rate, every int) ([]Call, error) {
	if rate < 1 || every < 1 {
		return nil, fmt.Errorf("a wave has 1 phone or more, and waves are 1 s apart or more")
	}
	holders := map[User][]string{}
	for _, d := range devices {
		for _, u := range distinct(d.Users) {
			holders[u] = append(holders[u], d.MAC)
		}
	}
	type place struct {
		hash   uint64
		device *Device
	}
	order := make([]place, 0, len(devices))
	for i := range devices {
		order = append(order, place{xxhash.Sum64String(devices[i].MAC + "|waves"), &devices[i]})
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.device.MAC, b.device.MAC))
	})
	var calls []Call
	told := map[string]bool{}
	wave, room := 0, 0
	for _, p := range order {
		d := p.device
		if told[d.MAC] || len(d.Users) == 0 {
			continue
		}
		// The user with the fewest phones; of equals the first line's.
		user := slices.MinFunc(d.Users, func(a, b User) int { return cmp.Compare(len(holders[a]), len(holders[b])) })
		reached := holders[user]
		if len(reached) > rate {
			return nil, fmt.Errorf("user %s at %s is on %d phones, which all react at once: more than %d a second", user.Name, user.Server, len(reached), rate)
		}
		if len(reached) > room {
			wave, room = wave+1, rate
		}
		room -= len(reached)
		c := Call{Wave: wave, Offset: (wave - 1) * every, MAC: d.MAC, User: user, Phones: len(reached), Also: []string{}}
		for _, mac := range reached {
			told[mac] = true
			if mac != d.MAC {
				c.Also = append(c.Also, mac)
			}
		}
		slices.Sort(c.Also)
		calls = append(calls, c)
	}
	return calls, nil
}

func distinct(users []User) []User {
	var list []User
	for _, u := range users {
		if !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

// After is the rest of a list after a wave, its offsets counted from the next one.
func After(calls []Call, wave int) []Call {
	var rest []Call
	begin := -1
	for _, c := range calls {
		if c.Wave <= wave {
			continue
		}
		if begin < 0 {
			begin = c.Offset
		}
		c.Offset -= begin
		rest = append(rest, c)
	}
	return rest
}
