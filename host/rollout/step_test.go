package rollout

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"stagger/edge/spread"
	"stagger/host/fleet"
)

const tenant = `{"tenant":"t","url":"https://p.example","vendor":"yealink","model":"T31G","line":{"server":"pbx.example"}%s}`

const phones = 300

func devices(change func(n int, text string) string) func(func(fleet.Document)) error {
	return func(yield func(fleet.Document)) error {
		for n := range phones {
			mac := fmt.Sprintf("001565%06x", n)
			text := `{"device":"` + mac + `","tenant":"t","lines":[{"user":"1","password":"SECRETSECRET1"}]}`
			yield(fleet.Document{Tenant: "t", MAC: mac, Text: change(n, text)})
		}
		return nil
	}
}

func as(_ int, text string) string { return text }

// cohort counts the devices below a share.
func cohort(share uint64) (n int) {
	for i := range phones {
		if spread.CohortOf(fmt.Sprintf("001565%06x", i), "w49").Place < share {
			n++
		}
	}
	return n
}

func TestCompare(t *testing.T) {
	at := func(share int64, settings string) string {
		return With(fmt.Sprintf(tenant, ""), Rollout{"w49", share, "{" + settings + "}"})
	}
	none := fmt.Sprintf(tenant, "")
	few, half := cohort(100), cohort(5000)
	if few == 0 || few == half {
		t.Fatal("the devices are too few for this test")
	}
	const timers = `"timers":{"register":{"interval":1800,"window":300}}`
	changed := func(n int) map[string]int {
		if n == 0 {
			return map[string]int{}
		}
		return map[string]int{"yealink": n}
	}
	for name, c := range map[string]struct {
		old, new string
		want     Step
	}{
		"nobody":              {none, at(0, timers), Step{Changed: changed(0)}},
		"the first":           {at(0, timers), at(100, timers), Step{After: few, In: few, Changed: changed(few)}},
		"more":                {at(100, timers), at(5000, timers), Step{Before: few, After: half, In: half - few, Changed: changed(half - few)}},
		"everybody":           {at(5000, timers), at(10000, timers), Step{Before: half, After: phones, In: phones - half, Changed: changed(phones - half)}},
		"back":                {at(5000, timers), at(100, timers), Step{Before: half, After: few, Back: half - few, Changed: changed(half - few)}},
		"aborted":             {at(5000, timers), none, Step{Before: half, Back: half, Changed: changed(half)}},
		"finished":            {at(10000, timers), Fold(at(10000, timers)), Step{Before: phones, Back: phones, Changed: changed(0)}},
		"settings that do no": {at(0, `"firmware":"108.86.0.90"`), at(10000, `"firmware":"108.86.0.90"`), Step{After: phones, In: phones, Changed: changed(0)}},
		"a template":          {at(0, `"template":{"yealink":"overwrite"}`), at(5000, `"template":{"yealink":"overwrite"}`), Step{After: half, In: half, Changed: changed(half)}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Devices = phones
			got, err := Compare(c.old, c.new, devices(as))
			if err != nil || !reflect.DeepEqual(*got, c.want) {
				t.Errorf("%+v, %v, want %+v", *got, err, c.want)
			}
		})
	}
}

func TestCompareRefused(t *testing.T) {
	none := fmt.Sprintf(tenant, "")
	bad := With(none, Rollout{"w49", 10000, `{"model":"SECRET"}`})
	// Of the devices one has a model of its own, one was refused before, and one is
	// disabled.
	list := devices(func(n int, text string) string {
		switch n {
		case 0:
			return strings.Replace(text, `"lines"`, `"model":"T46U","lines"`, 1)
		case 1:
			return strings.Replace(text, `"lines"`, `"vendor":"SECRET","lines"`, 1)
		}
		return text
	})
	step, err := Compare(none, bad, list)
	if err != nil || step.RefusedAll != phones-2 || len(step.Refused) != maxRefused || len(step.Changed) != 0 {
		t.Fatalf("%+v, %v", step, err)
	}
	if r := step.Refused[0]; r.What != "model: is not a model of this vendor" || len(r.Device) != 12 {
		t.Errorf("%+v", r)
	}
	// Back from what is refused, all get files again.
	step, err = Compare(bad, none, list)
	if err != nil || step.RefusedAll != 0 || step.Changed["yealink"] != phones-2 {
		t.Errorf("%+v, %v", step, err)
	}
	// Nothing changes for who gets nothing.
	off := With(fmt.Sprintf(tenant, `,"state":"disabled"`), Rollout{"w49", 10000, `{"language":"de"}`})
	if step, err = Compare(Without(off), off, devices(as)); err != nil || step.ChangedAll() != 0 || step.In != phones {
		t.Errorf("%+v, %v", step, err)
	}
	if _, err := Compare(none, none, func(func(fleet.Document)) error { return errors.New("unplugged") }); err == nil {
		t.Error("an error of the file is lost")
	}
}
