// Package profile reads the stored documents of a tenant and a device and makes
// of them the one record that a template sees: defaults < tenant < device. It
// owns what a document may contain and how it is judged; it knows no vendor
// (package pack does) and fetches nothing.
package profile

import (
	"stagger/edge/record"
	"stagger/edge/spread"
)

// Bounds of a document. A document that exceeds one is refused, never cut.
const (
	// MaxDocument is the size of a document in bytes.
	MaxDocument = 256 << 10
	// MaxDepth is how deep its values may nest.
	MaxDepth = 64
	// MaxLines and MaxKeys are those of the largest device there is: a DECT
	// manager, and a desk phone with six expansion modules.
	MaxLines = 250
	MaxKeys  = 400
	// MaxSeconds bounds every time: a year is more than any timer needs.
	MaxSeconds = 366 * 86400
	// MaxGeneration is the highest generation that a token can carry.
	MaxGeneration = 32767
)

// States of a device.
const (
	Active   = "active"   // gets its complete configuration
	Staged   = "staged"   // gets a configuration without accounts or secrets
	Disabled = "disabled" // is answered like an unknown device
)

// Words of the fields that are enumerations.
var (
	States     = []string{Active, Staged, Disabled}
	Transports = []string{"udp", "tcp", "tls", "dns-naptr"}
	SRTP       = []string{"off", "optional", "required"}
	Strategies = []string{"interval", "native"}
	Places     = []string{"jump-1", "modulo-1"}
	Auths      = []string{"token", "basic", "digest", "open"}
	KeyTypes   = []string{
		"none", "line", "blf", "speed-dial", "intercom", "park", "retrieve-park", "group-pickup",
		"transfer", "forward", "dnd", "hold", "conference", "voicemail", "dtmf", "directory",
	}
	Codecs = []string{"opus", "g722", "pcma", "pcmu", "g729", "ilbc", "g726-32"}
)

// lineSettings are the fields of a line that a tenant may set for all its lines.
var lineSettings = []record.Field{
	{Name: "enabled", Kind: record.Bool, Default: "true"},
	{Name: "server", Kind: record.String, Rule: record.Host, Min: 1, Max: 253},
	{Name: "port", Kind: record.Int, Min: 1, Max: 65535},
	{Name: "transport", Kind: record.String, Words: Transports, Default: "udp"},
	{Name: "outbound_proxy", Kind: record.String, Rule: record.Host, Min: 1, Max: 253},
	{Name: "outbound_port", Kind: record.Int, Min: 1, Max: 65535},
	{Name: "register", Kind: record.Int, Min: 1, Max: MaxSeconds, Hidden: true},
	{Name: "srtp", Kind: record.String, Words: SRTP, Default: "off"},
	{Name: "voicemail", Kind: record.String, Rule: record.Dial, Min: 1, Max: 32},
	{Name: "mwi", Kind: record.Bool, Default: "true"},
}

// Positions in lineSettings, and so in both line schemas.
const (
	LineEnabled = iota
	LineServer
	LinePort
	LineTransport
	LineOutboundProxy
	LineOutboundPort
	LineRegister
	LineSRTP
	LineVoicemail
	LineMWI
	lineShared
)

// Positions in Line after the shared ones, and in the line of a phone.
const (
	LineIndex = lineShared + iota
	LineUser
	LineAuthUser
	LinePassword
	LineLabel
	LineDisplayName
	lineStored
	LineRegistration = lineStored
)

// LineDefaults is a tenant's "line".
var LineDefaults = &record.Schema{Name: "line", Fields: lineSettings}

// Line is one of a device's "lines": a SIP account.
var Line = &record.Schema{Name: "line", Fields: append(lineSettings[:lineShared:lineShared],
	record.Field{Name: "index", Kind: record.Int, Min: 1, Max: MaxLines},
	record.Field{Name: "user", Kind: record.String, Rule: record.User, Min: 1, Max: 64},
	record.Field{Name: "auth_user", Kind: record.String, Rule: record.Secret, Min: 1, Max: 99},
	record.Field{Name: "password", Kind: record.String, Rule: record.Secret, Min: 1, Max: 99, Secret: true},
	record.Field{Name: "label", Kind: record.String, Rule: record.Label, Min: 1, Max: 99},
	record.Field{Name: "display_name", Kind: record.String, Rule: record.Label, Min: 1, Max: 99},
)}

// Key is one of the programmable keys.
var Key = &record.Schema{Name: "key", Fields: []record.Field{
	{Name: "module", Kind: record.Int, Min: 0, Max: 6, Default: "0"},
	{Name: "index", Kind: record.Int, Min: 1, Max: MaxKeys},
	{Name: "type", Kind: record.String, Words: KeyTypes},
	{Name: "line", Kind: record.Int, Min: 1, Max: MaxLines, Default: "1"},
	{Name: "value", Kind: record.String, Rule: record.Dial, Min: 1, Max: 128},
	{Name: "label", Kind: record.String, Rule: record.Label, Min: 1, Max: 99},
	{Name: "pickup", Kind: record.String, Rule: record.Dial, Min: 1, Max: 32},
}}

// Positions in Key.
const (
	KeyModule = iota
	KeyIndex
	KeyType
	KeyLine
	KeyValue
	KeyLabel
	KeyPickup
)

// Timer is how one periodic duty is spread. All three are seconds.
var Timer = &record.Schema{Name: "timer", Fields: []record.Field{
	{Name: "interval", Kind: record.Int, Min: 1, Max: MaxSeconds},
	{Name: "window", Kind: record.Int, Min: 0, Max: MaxSeconds},
	{Name: "floor", Kind: record.Int, Min: 1, Max: MaxSeconds},
}}

// Positions in Timer.
const (
	TimerInterval = iota
	TimerWindow
	TimerFloor
	timerShared
)

// Checkin is the timer of the check-in. Phones that look at the clock come at a time
// of the day, "at" or less than the window later.
var Checkin = &record.Schema{Name: "checkin", Fields: append(Timer.Fields[:timerShared:timerShared],
	record.Field{Name: "at", Kind: record.String, Rule: record.Clock, Min: 5, Max: 5},
	record.Field{Name: "strategy", Kind: record.String, Words: Strategies},
)}

// Positions in Checkin after those of Timer.
const (
	CheckinAt = timerShared + iota
	CheckinStrategy
)

// Timers are the periodic duties, and the delay before the first registration
// after a boot ("boot", seconds; 0 or absent leaves the phone alone).
var Timers = &record.Schema{Name: "timers", Fields: []record.Field{
	{Name: "checkin", Kind: record.Group, Of: Checkin},
	{Name: "register", Kind: record.Group, Of: Timer},
	{Name: "subscribe", Kind: record.Group, Of: Timer},
	{Name: "boot", Kind: record.Int, Min: 0, Max: 3600},
}}

// Positions in Timers.
const (
	TimersCheckin = iota
	TimersRegister
	TimersSubscribe
	TimersBoot
)

// timerDefaults are interval, window and floor where neither tenant nor device
// says otherwise: a day, and an hour, each spread over a sixth of itself.
var timerDefaults = [3][timerShared]int64{{86400, 14400, 3600}, {3600, 600, 60}, {3600, 600, 60}}

// defaultAt is when phones that look at the clock begin to come: with the window of a
// check-in they are done by six in the morning.
const defaultAt = "02:00"

// Phonebook is a directory that the phone downloads.
var Phonebook = &record.Schema{Name: "phonebook", Fields: []record.Field{
	{Name: "name", Kind: record.String, Rule: record.Label, Min: 1, Max: 64, Default: "Directory"},
	{Name: "url", Kind: record.String, Rule: record.URL, Min: 8, Max: 511},
}}

// Positions in Phonebook.
const (
	PhonebookName = iota
	PhonebookURL
)

// Host is an item of "ntp".
var Host = &record.Schema{Name: "host", Single: true, Fields: []record.Field{
	{Name: "host", Kind: record.String, Rule: record.Host, Min: 1, Max: 253},
}}

// Codec is an item of "codecs".
var Codec = &record.Schema{Name: "codec", Single: true, Fields: []record.Field{
	{Name: "name", Kind: record.String, Words: Codecs},
}}

// Setting is a vendor's parameter that the profile has no field for.
var Setting = &record.Schema{Name: "setting", Fields: []record.Field{
	{Name: "name", Kind: record.String, Rule: record.Parameter, Min: 1, Max: 64},
	{Name: "value", Kind: record.String, Rule: record.Secret, Min: 1, Max: 256},
}}

// Extra are the settings for the devices of one vendor.
var Extra = &record.Schema{Name: "vendor", Fields: []record.Field{
	{Name: "vendor", Kind: record.String, Rule: record.Name, Min: 1, Max: 32},
	{Name: "settings", Kind: record.Map, Of: Setting, Max: 100},
}}

// TemplateVersion says which of several templates the files of a vendor's devices
// come from.
var TemplateVersion = &record.Schema{Name: "version", Fields: []record.Field{
	{Name: "vendor", Kind: record.String, Rule: record.Name, Min: 1, Max: 32},
	{Name: "version", Kind: record.String, Rule: record.Name, Min: 1, Max: 32},
}}

// Positions in Setting, Extra and TemplateVersion.
const (
	PairName = iota
	PairValue
)

// settings are the fields that a tenant may set for all its devices.
var settings = []record.Field{
	{Name: "vendor", Kind: record.String, Rule: record.Name, Min: 1, Max: 32},
	{Name: "model", Kind: record.String, Rule: record.Name, Min: 1, Max: 32},
	{Name: "firmware", Kind: record.String, Rule: record.Version, Min: 1, Max: 32},
	{Name: "state", Kind: record.String, Words: States, Default: Active, Hidden: true},
	{Name: "keys", Kind: record.List, Of: Key, Max: MaxKeys},
	{Name: "time_zone", Kind: record.String, Rule: record.Zone, Min: 1, Max: 64, Hidden: true},
	{Name: "language", Kind: record.String, Rule: record.Tag, Min: 2, Max: 16},
	{Name: "ntp", Kind: record.List, Of: Host, Max: 2},
	{Name: "admin_password", Kind: record.String, Rule: record.Secret, Min: 1, Max: 99, Secret: true},
	{Name: "codecs", Kind: record.List, Of: Codec, Min: 1, Max: 16, Hidden: true},
	{Name: "pickup_code", Kind: record.String, Rule: record.Dial, Min: 1, Max: 32},
	{Name: "phonebook", Kind: record.Group, Of: Phonebook},
	{Name: "firmware_url", Kind: record.String, Rule: record.URL, Min: 8, Max: 511},
	{Name: "timers", Kind: record.Group, Of: Timers, Hidden: true},
	{Name: "extra", Kind: record.Map, Of: Extra, Max: 16, Hidden: true},
	{Name: "template", Kind: record.Map, Of: TemplateVersion, Max: 16, Hidden: true},
}

// Positions in settings, and so in Tenant, Device and Phone.
const (
	Vendor = iota
	Model
	Firmware
	StateField
	Keys
	TimeZone
	Language
	NTP
	AdminPassword
	CodecsField
	PickupCode
	PhonebookField
	FirmwareURL
	TimersField
	ExtraField
	TemplateField
	shared
)

// tenantSettings are the fields of a tenant that say what its devices get, and so
// can be rolled out to some of them first. The others say who the tenant is and what
// it asks of phones before it knows which device that is.
var tenantSettings = append(settings[:shared:shared],
	record.Field{Name: "place", Kind: record.String, Words: Places, Default: "jump-1"},
	record.Field{Name: "url", Kind: record.String, Rule: record.Base, Min: 8, Max: 255},
	record.Field{Name: "line", Kind: record.Group, Of: LineDefaults},
)

// Positions in tenantSettings after the shared ones, and so in Tenant.
const (
	TenantPlace = shared + iota
	TenantURL
	TenantLine
	rolled
)

// RolloutSettings are what a rollout puts over the settings of its tenant.
var RolloutSettings = &record.Schema{Name: "rollout_settings", Fields: tenantSettings}

// Rollout are settings that a share of the tenant's devices have already, in
// hundredths of a per cent.
var Rollout = &record.Schema{Name: "rollout", Required: 3, Fields: []record.Field{
	{Name: "id", Kind: record.String, Rule: record.Name, Min: 1, Max: 32},
	{Name: "share", Kind: record.Int, Min: 0, Max: spread.Shares},
	{Name: "settings", Kind: record.Group, Of: RolloutSettings},
}}

// Positions in Rollout.
const (
	RolloutID = iota
	RolloutShare
	RolloutSet
)

// Tenant is the document "tenant:<id>": a customer, and the defaults of all its
// devices.
var Tenant = &record.Schema{Name: "tenant", Fields: append(tenantSettings[:rolled:rolled],
	record.Field{Name: "tenant", Kind: record.String, Rule: record.Tenant, Min: 1, Max: 32},
	record.Field{Name: "schema", Kind: record.Int, Min: 1, Max: 1, Default: "1"},
	record.Field{Name: "spread", Kind: record.Int, Min: 1, Max: 1, Default: "1"},
	record.Field{Name: "auth", Kind: record.String, Words: Auths, Default: "token"},
	record.Field{Name: "client_cert", Kind: record.Bool, Default: "false"},
	record.Field{Name: "rollout", Kind: record.Group, Of: Rollout},
)}

// Positions in Tenant after those that a rollout can set.
const (
	TenantID = rolled + iota
	TenantSchema
	TenantSpread
	TenantAuth
	TenantClientCert
	TenantRollout
)

// Device is the document "device:<tenant>:<mac>".
var Device = &record.Schema{Name: "device", Fields: append(settings[:shared:shared],
	record.Field{Name: "device", Kind: record.String, Rule: record.MAC, Min: 12, Max: 12},
	record.Field{Name: "tenant", Kind: record.String, Rule: record.Tenant, Min: 1, Max: 32},
	record.Field{Name: "schema", Kind: record.Int, Min: 1, Max: 1, Default: "1"},
	record.Field{Name: "generation", Kind: record.Int, Min: 0, Max: MaxGeneration, Default: "0"},
	record.Field{Name: "lines", Kind: record.List, Of: Line, Max: MaxLines},
)}

// Positions in Device after the shared ones.
const (
	DeviceMAC = shared + iota
	DeviceTenant
	DeviceSchema
	DeviceGeneration
	DeviceLines
)
