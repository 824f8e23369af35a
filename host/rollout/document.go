// Package rollout changes the rollout in the document of a tenant.
//
// It owns the text of the document: fields that it does not change stay as they are
// written. Which device a rollout reaches it asks the core, and what that device gets is
// no matter of its: see package diff. It must never put a value of a document into an
// error.
package rollout

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"stagger/edge/profile"
	"stagger/edge/record"
)

// field is the name of the rollout in a tenant's document.
const field = "rollout"

// A Rollout is what a tenant's document says of its rollout.
type Rollout struct {
	ID string
	// Share is in hundredths of a per cent: 0 is nobody, 10000 everybody.
	Share int64
	// Settings is a JSON object.
	Settings string
}

// Of returns the rollout of a tenant's document, which has to be a good one, and
// whether there is any.
func Of(tenant string) (Rollout, bool) {
	r := gjson.Get(tenant, field)
	return Rollout{r.Get("id").Str, r.Get("share").Int(), r.Get("settings").Raw}, r.Exists()
}

// With returns the document of a tenant with this rollout in the place of any other.
func With(tenant string, r Rollout) string {
	id := string(gjson.AppendJSONString(nil, r.ID))
	text := `{"id":` + id + `,"share":` + strconv.FormatInt(r.Share, 10) + `,"settings":` + r.Settings + `}`
	return put(members(tenant), `"`+field+`"`, field, text).join()
}

// Without returns the document of a tenant without its rollout: what the devices get
// that it does not reach.
func Without(tenant string) string {
	var rest object
	for _, m := range members(tenant) {
		if m.name != field {
			rest = append(rest, m)
		}
	}
	return rest.join()
}

// Fold returns the document of a tenant that says itself what its rollout says: what
// the devices get that it reaches.
func Fold(tenant string) string {
	r, ok := Of(tenant)
	if !ok {
		return tenant
	}
	return over(profile.Tenant, Without(tenant), r.Settings)
}

// over puts the fields of one object over those of another, the way the core does:
// lists replace, groups are merged field by field, maps name by name.
func over(schema *record.Schema, below, above string) string {
	result := members(below)
	for _, m := range members(above) {
		kind, of := record.Kind(0), (*record.Schema)(nil)
		if i := schema.Index(m.name); i >= 0 {
			kind, of = schema.Fields[i].Kind, schema.Fields[i].Of
		}
		value := m.value
		if i := result.index(m.name); i >= 0 {
			switch kind {
			case record.Group:
				value = over(of, result[i].value, value)
			case record.Map:
				value = named(of, result[i].value, value)
			}
		}
		result = put(result, m.key, m.name, value)
	}
	return result.join()
}

// named is over for objects with free names.
func named(schema *record.Schema, below, above string) string {
	result := members(below)
	f := &schema.Fields[profile.PairValue]
	for _, m := range members(above) {
		value := m.value
		if i := result.index(m.name); i >= 0 && f.Kind == record.Map {
			value = named(f.Of, result[i].value, value)
		}
		result = put(result, m.key, m.name, value)
	}
	return result.join()
}

// A member of an object: key and value as they are written.
type member struct{ key, name, value string }

// An object keeps the order of its members.
type object []member

func members(text string) (list object) {
	gjson.Parse(text).ForEach(func(name, value gjson.Result) bool {
		list = append(list, member{name.Raw, name.Str, value.Raw})
		return true
	})
	return list
}

func (o object) index(name string) int {
	for i := range o {
		if o[i].name == name {
			return i
		}
	}
	return -1
}

// put replaces the value of a member, or adds it.
func put(o object, key, name, value string) object {
	if i := o.index(name); i >= 0 {
		o[i].value = value
		return o
	}
	return append(o, member{key, name, value})
}

func (o object) join() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.key + ":" + m.value)
	}
	b.WriteByte('}')
	return b.String()
}
