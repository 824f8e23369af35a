package fleet

import (
	"maps"
	"slices"
	"strings"
)

// Keys returns the keys of all documents, sorted: devices by tenant and MAC, then
// the tenants.
func (s *Store) Keys() []string {
	if s.database == nil {
		return slices.Sorted(maps.Keys(s.documents))
	}
	keys := make([]string, 0, s.Tenants()+s.Devices())
	// What a damaged database does not tell, asking for it will.
	_ = s.database.each(func(key, _ []byte) error {
		keys = append(keys, string(key))
		return nil
	})
	return keys
}

// MACs returns the MACs of all devices, sorted by tenant and MAC.
func (s *Store) MACs() []string {
	var macs []string
	for _, key := range s.Keys() {
		if rest, ok := strings.CutPrefix(key, "device:"); ok {
			macs = append(macs, rest[strings.IndexByte(rest, ':')+1:])
		}
	}
	return macs
}

// TenantOf returns the tenant of the device with this MAC, which no two have.
func (s *Store) TenantOf(mac string) (string, bool) {
	if s.database != nil {
		tenant, ok, _ := s.database.get(ownersBucket, owner(mac))
		return tenant, ok
	}
	s.index.Do(s.indexOwners)
	tenant, ok := s.owners[mac]
	return tenant, ok
}

// indexOwners fills owners. Its strings share the memory of the keys.
func (s *Store) indexOwners() {
	s.owners = make(map[string]string, s.Devices())
	for key := range s.documents {
		if rest, ok := strings.CutPrefix(key, "device:"); ok {
			tenant, mac, _ := strings.Cut(rest, ":")
			s.owners[mac] = tenant
		}
	}
}
