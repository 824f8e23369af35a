package waves

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// fleet is n phones; every tenth shares its second user with the next phone, and
// every hundredth has nothing but a shared one.
func fleet(n int) []Device {
	devices := make([]Device, n)
	for i := range devices {
		d := Device{MAC: fmt.Sprintf("001565%06x", i), Users: []User{{fmt.Sprint(1000 + i), "pbx"}}}
		if i%10 < 2 {
			d.Users = append(d.Users, User{fmt.Sprint("shared", i/10), "pbx"})
		}
		if i%100 < 2 {
			d.Users = d.Users[1:]
		}
		devices[i] = d
	}
	return devices
}

// TestPlan wants every phone once, no second with more than the rate, whatever the
// rate, and shared users named.
func TestPlan(t *testing.T) {
	devices := fleet(3000)
	for _, rate := range []int{2, 3, 7, 50, 5000} {
		calls, err := Plan(devices, rate, 1)
		if err != nil {
			t.Fatal(err)
		}
		told, seconds := map[string]int{}, map[int]int{}
		last := 0
		for _, c := range calls {
			told[c.MAC]++
			for _, mac := range c.Also {
				told[mac]++
			}
			if c.Phones != 1+len(c.Also) || c.Offset != c.Wave-1 || c.Wave < last || c.Wave > last+1 {
				t.Fatalf("%+v after wave %d", c, last)
			}
			last = c.Wave
			seconds[c.Offset] += c.Phones
		}
		for _, d := range devices {
			if told[d.MAC] != 1 {
				t.Errorf("rate %d: %s is told %d times", rate, d.MAC, told[d.MAC])
			}
		}
		for second, n := range seconds {
			if n > rate {
				t.Errorf("rate %d: second %d has %d", rate, second, n)
			}
		}
		// 30 pairs have one user between them, and no other phone reacts unmeant.
		if len(calls) != 3000-30 {
			t.Errorf("rate %d: %d calls", rate, len(calls))
		}
		// No more waves than phones make necessary, a pair at the end of each aside.
		if last > 3000/max(1, rate-1)+1 {
			t.Errorf("rate %d: %d waves", rate, last)
		}
	}
	if _, err := Plan(devices, 1, 1); err == nil {
		t.Error("a user on two phones is within a rate of one a second")
	}
	for _, bad := range [][2]int{{0, 1}, {1, 0}} {
		if _, err := Plan(devices, bad[0], bad[1]); err == nil {
			t.Error(bad)
		}
	}
}

// TestOrder: the same each time, whatever the order of the fleet, and not that of
// addresses.
func TestOrder(t *testing.T) {
	devices := fleet(500)
	for i := range devices {
		devices[i].Users = devices[i].Users[:1]
	}
	first, err := Plan(devices, 10, 5)
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
	for i := range first {
		slices.Sort(first[i].Also)
	}
	again, err := Plan(devices, 10, 5)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Error("another order of the fleet gives other waves")
	}
	if slices.IsSortedFunc(first, func(a, b Call) int { return slices.Compare([]byte(a.MAC), []byte(b.MAC)) }) {
		t.Error("the order is that of addresses")
	}
	if first[10].Offset != 5 || first[10].Wave != 2 {
		t.Errorf("%+v", first[10])
	}
}

// TestAfter: what comes before a wave and what comes after it are the whole.
func TestAfter(t *testing.T) {
	calls, err := Plan(fleet(300), 10, 2)
	if err != nil {
		t.Fatal(err)
	}
	rest := After(calls, 4)
	if rest[0].Wave != 5 || rest[0].Offset != 0 || rest[len(rest)-1].Offset != calls[len(calls)-1].Offset-8 {
		t.Errorf("%+v", rest[0])
	}
	before := 0
	for _, c := range calls {
		if c.Wave <= 4 {
			before++
		}
	}
	if before+len(rest) != len(calls) {
		t.Errorf("%d and %d of %d", before, len(rest), len(calls))
	}
	if got := After(calls, 1000); got != nil {
		t.Errorf("%v", got)
	}
}

// TestNobody leaves out who has no user, and counts a user once on a phone.
func TestNobody(t *testing.T) {
	u := User{"1", "pbx"}
	calls, err := Plan([]Device{{MAC: "001565000001"}, {MAC: "001565000002", Users: []User{u, u}}, {MAC: "001565000003", Users: []User{{"1", "other"}}}}, 1, 1)
	if err != nil || len(calls) != 2 || calls[0].Phones != 1 || calls[1].Phones != 1 {
		t.Errorf("%+v, %v", calls, err)
	}
}
