package profile

import (
	"stagger/edge/record"
	"stagger/edge/spread"
)

// Cohort is what the rollout of a tenant means for one of its devices. Without a
// rollout ID is "".
type Cohort struct {
	ID string
	// Share is how much of the fleet has the settings, of spread.Shares.
	Share uint64
	// In says that the device has them: its place is below the share.
	In bool
	spread.Cohort
}

// String is the cohort in a word of the audit record: the id, and "in" or "out".
func (c Cohort) String() string {
	switch {
	case c.ID == "":
		return ""
	case c.In:
		return c.ID + " in"
	}
	return c.ID + " out"
}

// Rollout returns the document of a tenant as it is for the device with this MAC:
// as it stands, or with the settings of its rollout over its own (lists replace,
// groups merge field by field, maps name by name). The tenant's document is left as
// it is, for the next device.
func (b *Builder) Rollout(tenant record.Record, mac string) (record.Record, Cohort) {
	if !tenant[TenantRollout].Set {
		return tenant, Cohort{}
	}
	r := tenant[TenantRollout].List[0]
	c := Cohort{ID: r[RolloutID].Str, Share: uint64(r[RolloutShare].Num), Cohort: spread.CohortOf(mac, r[RolloutID].Str)}
	c.In = c.Place < c.Share
	if !c.In {
		return tenant, c
	}
	set, over := r[RolloutSet].List[0], b.Arena.New(len(Tenant.Fields))
	copy(over, set)
	b.inherit(tenantSettings, over, tenant)
	copy(over[rolled:], tenant[rolled:])
	for _, i := range [...]int{ExtraField, TemplateField} {
		if set[i].Set && tenant[i].Set {
			// Of two entries of one name the first counts.
			list := b.Arena.List(len(set[i].List) + len(tenant[i].List))
			over[i].List = append(append(list, set[i].List...), tenant[i].List...)
		}
	}
	return over, c
}
