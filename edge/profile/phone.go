package profile

import (
	"strconv"

	"stagger/edge/pack"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/edge/template"
	"stagger/edge/zone"
)

// PhoneLine is a line as a template sees it: complete, and with the value of its
// registration timer in the unit of the vendor's parameter.
var PhoneLine = &record.Schema{Name: "line", Fields: append(visible(Line.Fields),
	record.Field{Name: "registration", Kind: record.Int},
)}

// Slot is the place of a line or key that has nothing on it.
var Slot = &record.Schema{Name: "slot", Fields: []record.Field{
	{Name: "module", Kind: record.Int},
	{Name: "index", Kind: record.Int},
}}

// PhoneCodec is a codec that the phone knows. Those that the profile lists come
// first, with priority 1 and up; the others are not enabled.
var PhoneCodec = &record.Schema{Name: "codec", Fields: []record.Field{
	{Name: "name", Kind: record.String},
	{Name: "enabled", Kind: record.Bool},
	{Name: "priority", Kind: record.Int},
}}

// ZoneChange is the moment at which summer time starts or ends. Week 5 is the
// last of the month; weekday 0 is Sunday, iso_weekday 7 is. The time is that of
// the wall clock before the change; whole says that it is a full hour from 0 to 23.
var ZoneChange = &record.Schema{Name: "change", Fields: []record.Field{
	{Name: "month", Kind: record.Int},
	{Name: "week", Kind: record.Int},
	{Name: "weekday", Kind: record.Int},
	{Name: "iso_weekday", Kind: record.Int},
	{Name: "hour", Kind: record.Int},
	{Name: "whole", Kind: record.Bool},
}}

// Zone is a time zone. Posix is its rule as a TZ string (POSIX.1, 8.3) with STD and
// DST for the names, which phones do not show. Sign, hours and minutes are the standard offset east of
// UTC; save is how many minutes summer time adds, and dst whether there is one.
var Zone = &record.Schema{Name: "zone", Fields: []record.Field{
	{Name: "name", Kind: record.String},
	{Name: "sign", Kind: record.String},
	{Name: "hours", Kind: record.Int},
	{Name: "minutes", Kind: record.Int},
	{Name: "dst", Kind: record.Bool},
	{Name: "save", Kind: record.Int},
	{Name: "start", Kind: record.Group, Of: ZoneChange},
	{Name: "end", Kind: record.Group, Of: ZoneChange},
	{Name: "posix", Kind: record.String},
}}

// Feature is a word of a model.
var Feature = &record.Schema{Name: "feature", Single: true, Fields: []record.Field{
	{Name: "name", Kind: record.String},
}}

// Phone is what a template sees. Fields that the stored documents leave open are
// unset; printing one stops the rendering, so that no file has a blank where a
// value belongs.
var Phone = &record.Schema{Name: "phone", Fields: append(visible(settings),
	record.Field{Name: "mac", Kind: record.String},
	record.Field{Name: "MAC", Kind: record.String},
	record.Field{Name: "tenant", Kind: record.String},
	record.Field{Name: "url", Kind: record.String, Secret: true},
	record.Field{Name: "provisioning_password", Kind: record.String, Secret: true},
	record.Field{Name: "checkin", Kind: record.Int},
	record.Field{Name: "subscribe", Kind: record.Int},
	record.Field{Name: "boot", Kind: record.Int},
	record.Field{Name: "zone", Kind: record.Group, Of: Zone},
	record.Field{Name: "lines", Kind: record.List, Of: PhoneLine},
	record.Field{Name: "free_lines", Kind: record.List, Of: Slot},
	record.Field{Name: "free_keys", Kind: record.List, Of: Slot},
	record.Field{Name: "codecs", Kind: record.List, Of: PhoneCodec},
	record.Field{Name: "extra", Kind: record.List, Of: Setting},
	record.Field{Name: "features", Kind: record.List, Of: Feature},
	// Some phones want a URL in two: its scheme, and the rest without a "/" at
	// the end.
	record.Field{Name: "url_scheme", Kind: record.String},
	record.Field{Name: "url_path", Kind: record.String, Secret: true},
	record.Field{Name: "firmware_scheme", Kind: record.String},
	record.Field{Name: "firmware_path", Kind: record.String},
	record.Field{Name: "phonebook_scheme", Kind: record.String},
	record.Field{Name: "phonebook_path", Kind: record.String},
	// Of a check-in at a time of the day: two digits each, and the days from one to
	// the next.
	record.Field{Name: "checkin_hour", Kind: record.String},
	record.Field{Name: "checkin_minute", Kind: record.String},
	record.Field{Name: "checkin_days", Kind: record.Int},
	// Some phones want the provisioning URL in parts: host, port where it has one, and
	// the rest without a "/" at either end.
	record.Field{Name: "url_host", Kind: record.String},
	record.Field{Name: "url_port", Kind: record.String},
	record.Field{Name: "url_dir", Kind: record.String, Secret: true},
	// Whether the phone is to draw the moment of its check-in itself.
	record.Field{Name: "checkin_native", Kind: record.Bool},
)}

// Positions in Phone after the shared ones.
const (
	PhoneMAC = shared + iota
	PhoneMACUpper
	PhoneTenant
	PhoneURL
	PhoneProvisioningPassword
	PhoneCheckin
	PhoneSubscribe
	PhoneBoot
	PhoneZone
	PhoneLines
	PhoneFreeLines
	PhoneFreeKeys
	PhoneCodecs
	PhoneExtra
	PhoneFeatures
	PhoneURLScheme
	PhoneURLPath
	PhoneFirmwareScheme
	PhoneFirmwarePath
	PhonePhonebookScheme
	PhonePhonebookPath
	PhoneCheckinHour
	PhoneCheckinMinute
	PhoneCheckinDays
	PhoneURLHost
	PhoneURLPort
	PhoneURLDir
	PhoneCheckinNative
)

// visible copies fields and takes the names of the hidden ones away: their
// places stay, so that positions agree, but no template can reach them.
func visible(fields []record.Field) []record.Field {
	out := make([]record.Field, len(fields))
	copy(out, fields)
	for i := range out {
		if out[i].Hidden {
			out[i].Name = ""
		}
	}
	return out
}

// Spread is one timer of a device and what became of it.
type Spread struct {
	// Name is the timer: "checkin", "subscribe", or "register." and the line.
	Name  string
	Timer spread.Timer
	Value spread.Value
}

// Builder makes phones. It is reused from request to request; what it returned
// is good until the next Build.
type Builder struct {
	Arena *record.Arena
	// Password is what the phone shows with its URL, where its tenant wants one;
	// the user is the MAC.
	Password string
	// Timers are those of the last Build, Model and Generation what its phone is;
	// Generation is nil where the vendor has only one.
	Timers     []Spread
	Model      *pack.Model
	Generation *pack.Generation
	// Template is the version of the vendor's templates that the device's profile
	// chooses; "" leaves it to the pack.
	Template string

	pack  *pack.Pack
	mac   string
	place spread.Place
}

// State returns the state of a device, tenant's default included.
func State(tenant, device record.Record) string {
	for _, r := range [...]record.Record{device, tenant} {
		if r[StateField].Set {
			return r[StateField].Str
		}
	}
	return Active
}

// VendorOf returns the vendor of a device, tenant's default included, or "".
func VendorOf(tenant, device record.Record) string {
	if device[Vendor].Set {
		return device[Vendor].Str
	}
	return tenant[Vendor].Str
}

// Build merges the two documents (defaults < tenant < device; lists replace, they
// do not add up), checks what only the whole can show, and derives the timers.
// url is the phone's own provisioning URL, with its token. The tenant's document is
// left as it is, for the next device; the device's keys are completed in place.
func (b *Builder) Build(tenant, device record.Record, p *pack.Pack, url string) (record.Record, *Error) {
	b.Timers, b.pack, b.mac = b.Timers[:0], p, device[DeviceMAC].Str
	a := b.Arena
	phone := a.New(len(Phone.Fields))
	copy(phone, device[:shared])
	b.inherit(settings, phone, tenant)

	if phone[Model].Str == "" {
		return nil, wrong("is required").within("model")
	}
	if b.Model = p.Model(phone[Model].Str); b.Model == nil {
		return nil, wrong("is not a model of this vendor").within("model")
	}
	b.place = spread.Jump
	if tenant[TenantPlace].Str == Places[1] {
		b.place = spread.Modulo
	}
	if err := b.template(tenant, device); err != nil {
		return nil, err
	}
	phone[PhoneMAC] = device[DeviceMAC]
	phone[PhoneMACUpper] = record.Text(upper(b.mac))
	phone[PhoneTenant] = tenant[TenantID]
	phone[PhoneURL] = record.Text(url)
	if b.Password != "" {
		phone[PhoneProvisioningPassword] = record.Text(b.Password)
	}
	if b.Generation = p.Generation(b.Model, phone[Firmware].Str); b.Generation == nil && len(p.Generations) > 0 {
		return nil, wrong("is not a version that is known of these phones: they begin with " + p.Generations[0].From).within("firmware")
	}
	features := a.List(len(b.Model.Features) + 1)
	feature := func(word string) {
		f := a.New(1)
		f[0] = record.Text(word)
		features = append(features, f)
	}
	for _, word := range b.Model.Features {
		feature(word)
	}
	if b.Generation != nil {
		feature(b.Generation.Name)
	}
	phone[PhoneFeatures] = record.Value{Set: true, List: features}

	active := phone[StateField].Str == Active
	if !active {
		// A phone that waits for its owner gets its timers and its place in the
		// fleet, and nothing that is worth stealing.
		phone[AdminPassword] = record.Value{}
		phone[Keys] = record.Value{Set: true}
		phone[PickupCode] = record.Value{}
		phone[PhonebookField] = record.Value{}
	}
	phone[PhoneURLScheme], phone[PhoneURLPath] = inTwo(phone[PhoneURL])
	phone[PhoneURLHost], phone[PhoneURLPort], phone[PhoneURLDir] = inParts(phone[PhoneURLPath].Str)
	phone[PhoneFirmwareScheme], phone[PhoneFirmwarePath] = inTwo(phone[FirmwareURL])
	if book := phone[PhonebookField].List; len(book) > 0 {
		phone[PhonePhonebookScheme], phone[PhonePhonebookPath] = inTwo(book[0][PhonebookURL])
	}
	if err := b.zone(phone); err != nil {
		return nil, err.within("time_zone")
	}
	timers := record.Record(nil)
	if l := phone[TimersField].List; len(l) > 0 {
		timers = l[0]
	}
	var err *Error
	if phone[PhoneCheckin], err = b.timer(timers, TimersCheckin, 0, "checkin", p.Checkin); err != nil {
		return nil, err
	}
	if p.Checkin.Native > 0 {
		phone[PhoneCheckinNative] = record.Truth(b.Timers[len(b.Timers)-1].Timer.Native)
	}
	if p.Checkin.Days > 0 {
		s := &b.Timers[len(b.Timers)-1]
		clock := string(spread.AppendClock(nil, s.Value.Seconds))
		phone[PhoneCheckinHour], phone[PhoneCheckinMinute] = record.Text(clock[:2]), record.Text(clock[3:])
		phone[PhoneCheckinDays] = record.Number(int64(s.Timer.Interval / spread.Day))
	}
	if phone[PhoneSubscribe], err = b.timer(timers, TimersSubscribe, 0, "subscribe", p.Subscribe); err != nil {
		return nil, err
	}
	if err := b.boot(phone, timers); err != nil {
		return nil, err
	}
	if err := b.lines(phone, tenant, device, timers, active); err != nil {
		return nil, err
	}
	if active && !device[Keys].Set {
		b.ownKeys(phone)
	}
	if err := b.keys(phone, active); err != nil {
		return nil, err
	}
	if err := b.codecs(phone); err != nil {
		return nil, err
	}
	if active {
		if err := b.extra(phone, tenant, device); err != nil {
			return nil, err
		}
	}
	if b.Model.ASCII {
		if err := ascii(Phone, phone); err != nil {
			return nil, err
		}
	}
	return phone, nil
}

// ascii looks for a text that a phone which reads ASCII only would garble: a name
// on a display, and a password as well.
func ascii(schema *record.Schema, r record.Record) *Error {
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if f.Name == "" {
			continue // hidden: it gets into no file
		}
		for j := range len(r[i].Str) {
			if r[i].Str[j] >= 0x80 {
				return wrong("has a character outside ASCII, which is all that the model reads").within(f.Name)
			}
		}
		for j, item := range r[i].List {
			err := ascii(f.Of, item)
			switch {
			case err == nil:
			case f.Kind == record.Group:
				return err.within(f.Name)
			default:
				return err.item(j).within(f.Name)
			}
		}
	}
	return nil
}

// Program is what renders a file for this phone, in the version of the templates that
// its profile chooses. A variant has no versions.
func Program(phone record.Record, f *pack.File, version string) *template.Program {
	for i := range f.Variants {
		for _, word := range phone[PhoneFeatures].List {
			if word[0].Str == f.Variants[i].Feature {
				return f.Variants[i].Program
			}
		}
	}
	return f.Choose(version)
}

// inTwo takes a URL apart: its scheme, and what comes behind it. Both are unset
// where the URL is.
func inTwo(url record.Value) (scheme, path record.Value) {
	for i := 0; i+2 < len(url.Str); i++ {
		if url.Str[i:i+3] == "://" {
			end := len(url.Str)
			if url.Str[end-1] == '/' {
				end--
			}
			return record.Text(url.Str[:i]), record.Text(url.Str[i+3 : end])
		}
	}
	return
}

// inParts takes host and port off a URL without scheme.
func inParts(s string) (host, port, dir record.Value) {
	end := 0
	for end < len(s) && s[end] != '/' {
		end++
	}
	authority := s[:end]
	for i := len(authority) - 1; i >= 0 && authority[i] != ']'; i-- {
		if authority[i] == ':' {
			port = record.Text(authority[i+1:])
			authority = authority[:i]
			break
		}
	}
	return record.Text(authority), port, record.Text(s[min(end+1, len(s)):])
}

// inherit fills what r leaves open, first from a record that begins with the same
// fields, then with the defaults. Groups are filled field by field, in a copy:
// both documents may be used again.
func (b *Builder) inherit(fields []record.Field, r, from record.Record) {
	for i := range fields {
		f := &fields[i]
		inherited := from != nil && from[i].Set
		switch {
		case f.Kind == record.Group && (r[i].Set || inherited):
			group, other := b.Arena.New(len(f.Of.Fields)), record.Record(nil)
			if r[i].Set {
				copy(group, r[i].List[0])
			}
			if inherited {
				other = from[i].List[0]
			}
			b.inherit(f.Of.Fields, group, other)
			r[i] = record.Value{Set: true, List: append(b.Arena.List(1), group)}
			continue
		case r[i].Set:
			continue
		case inherited:
			r[i] = from[i]
			continue
		}
		if f.Default == "" {
			continue
		}
		switch f.Kind {
		case record.String:
			r[i] = record.Text(f.Default)
		case record.Int:
			n, _ := whole(f.Default)
			r[i] = record.Number(n)
		case record.Bool:
			r[i] = record.Truth(f.Default == "true")
		}
	}
}

func (b *Builder) zone(phone record.Record) *Error {
	if !phone[TimeZone].Set {
		return nil
	}
	rule := zone.Find(phone[TimeZone].Str)
	if rule == nil {
		return wrong("is not a time zone that this version knows")
	}
	z := b.Arena.New(len(Zone.Fields))
	offset, sign := int64(rule.Offset), "+"
	if offset < 0 {
		offset, sign = -offset, "-"
	}
	z[0] = phone[TimeZone]
	z[1] = record.Text(sign)
	z[2] = record.Number(offset / 60)
	z[3] = record.Number(offset % 60)
	z[4] = record.Truth(rule.Save != 0)
	z[5] = record.Number(int64(rule.Save))
	if rule.Save != 0 {
		for i, change := range [...]*zone.Change{&rule.Start, &rule.End} {
			c := b.Arena.New(len(ZoneChange.Fields))
			iso := change.Weekday
			if iso == 0 {
				iso = 7
			}
			c[0] = record.Number(int64(change.Month))
			c[1] = record.Number(int64(change.Week))
			c[2] = record.Number(int64(change.Weekday))
			c[3] = record.Number(int64(iso))
			c[4] = record.Number(int64(change.Minute / 60))
			c[5] = record.Truth(change.Minute%60 == 0 && change.Minute >= 0 && change.Minute < 1440)
			z[6+i] = record.Value{Set: true, List: append(b.Arena.List(1), c)}
		}
	}
	z[8] = record.Text(posixTZ(rule))
	phone[PhoneZone] = record.Value{Set: true, List: append(b.Arena.List(1), z)}
	return nil
}

// posixTZ writes a rule as POSIX does: hours west of UTC, and changes as month, week
// and weekday. Everything that has a default is written out, for readers that know
// no defaults.
func posixTZ(r *zone.Rule) string {
	var buffer [64]byte
	b := appendClock(append(buffer[:0], "STD"...), -int64(r.Offset))
	if r.Save == 0 {
		return string(b)
	}
	b = appendClock(append(b, "DST"...), -int64(r.Offset)-int64(r.Save))
	for _, c := range [...]*zone.Change{&r.Start, &r.End} {
		b = append(b, ",M"...)
		b = strconv.AppendInt(b, int64(c.Month), 10)
		b = strconv.AppendInt(append(b, '.'), int64(c.Week), 10)
		b = strconv.AppendInt(append(b, '.'), int64(c.Weekday), 10)
		b = appendClock(append(b, '/'), int64(c.Minute))
	}
	return string(b)
}

// appendClock appends minutes as h or h:mm.
func appendClock(b []byte, minutes int64) []byte {
	if minutes < 0 {
		b, minutes = append(b, '-'), -minutes
	}
	b = strconv.AppendInt(b, minutes/60, 10)
	if rest := minutes % 60; rest != 0 {
		b = append(b, ':', byte('0'+rest/10), byte('0'+rest%10))
	}
	return b
}

// timer derives the value of one timer. which is its position in Timers; override
// replaces the interval unless it is 0.
func (b *Builder) timer(timers record.Record, which int, override int64, name string, p pack.Timer) (record.Value, *Error) {
	if p.Unit == 0 {
		return record.Value{}, nil
	}
	var n [timerShared]int64
	for i := range n {
		n[i] = timerDefaults[which][i]
		if timers != nil && timers[which].Set && timers[which].List[0][i].Set {
			n[i] = timers[which].List[0][i].Num
		}
	}
	if override != 0 {
		n[TimerInterval] = override
	}
	s := Spread{Name: name, Timer: spread.Timer{
		Interval: uint64(n[TimerInterval]), Window: uint64(n[TimerWindow]), Floor: uint64(n[TimerFloor]),
		Unit: p.Unit, Min: p.Min, Max: p.Max, Days: p.Days, Place: b.place,
	}}
	if p.Days > 0 {
		at := defaultAt
		if timers != nil && timers[which].Set && timers[which].List[0][CheckinAt].Set {
			at = timers[which].List[0][CheckinAt].Str
		}
		s.Timer.Base = clock(at)
	}
	if which == TimersCheckin && timers != nil && timers[which].Set && timers[which].List[0][CheckinStrategy].Str == "native" {
		what := ""
		switch {
		case p.Native == 0:
			what = "is native, and the phone draws no moment over the whole interval"
		case s.Timer.Interval > p.Native:
			what = "is native, for which the interval is at most " + strconv.FormatUint(p.Native, 10) + " seconds"
		}
		if what != "" {
			return record.Value{}, wrong(what).within("strategy").within("checkin").within("timers")
		}
		s.Timer.Native = true
	}
	if !s.Timer.InRange() {
		err := wrong(belowRange(p))
		switch {
		case p.Days > 0:
			err = wrong(otherDays(p))
		case s.Timer.Interval/p.Unit > p.Min:
			err = wrong(aboveRange(p))
		}
		if override != 0 {
			return record.Value{}, err.within("register")
		}
		return record.Value{}, err.within("interval").within(Timers.Fields[which].Name).within("timers")
	}
	s.Value = s.Timer.For(b.mac, name)
	b.Timers = append(b.Timers, s)
	return record.Number(int64(s.Value.Units)), nil
}

func belowRange(p pack.Timer) string {
	return "is below the phone's range, which starts at " + strconv.FormatUint(max(p.Min, 1)*p.Unit, 10) + " seconds"
}

func aboveRange(p pack.Timer) string {
	return "is above the phone's range, which ends at " + strconv.FormatUint(p.Max*p.Unit, 10) + " seconds"
}

func otherDays(p pack.Timer) string {
	what := "is not a day, 86400 seconds: the phone comes at a time of the day"
	if p.Days > 1 {
		what = "is not a whole number of days from 1 to " + strconv.FormatUint(p.Days, 10) + ", in seconds: the phone comes at a time of the day"
	}
	return what
}

// clock is HH:MM in seconds after midnight.
func clock(at string) uint64 {
	digit := func(i int) uint64 { return uint64(at[i] - '0') }
	return (digit(0)*10+digit(1))*3600 + (digit(3)*10+digit(4))*60
}

func (b *Builder) boot(phone, timers record.Record) *Error {
	if timers == nil || !timers[TimersBoot].Set {
		return nil
	}
	p := b.pack.Boot
	seconds := uint64(timers[TimersBoot].Num)
	if seconds == 0 || p.Unit == 0 {
		return nil
	}
	units := seconds / p.Unit
	what := ""
	switch {
	case units < max(p.Min, 1):
		what = belowRange(p)
	case p.Max != 0 && units > p.Max:
		what = aboveRange(p)
	}
	if what != "" {
		return wrong(what).within("boot").within("timers")
	}
	phone[PhoneBoot] = record.Number(int64(units))
	return nil
}

func (b *Builder) lines(phone, tenant, device, timers record.Record, active bool) *Error {
	a := b.Arena
	var defaults record.Record
	if tenant[TenantLine].Set {
		defaults = tenant[TenantLine].List[0]
	}
	stored := device[DeviceLines].List
	if active && len(stored) == 0 {
		return wrong("is required: an active device has at least one").within("lines")
	}
	lines, free := a.List(len(stored)), a.List(int(b.Model.Lines))
	// last is the line before, and used the last one that is not free.
	last, used := int64(0), int64(0)
	for i := range stored {
		if b.Model.ASCII {
			if err := ascii(Line, stored[i]); err != nil {
				return err.item(i).within("lines")
			}
		}
		l := a.New(len(PhoneLine.Fields))
		copy(l, stored[i])
		b.inherit(lineSettings, l, defaults)
		if !l[LineIndex].Set {
			l[LineIndex] = record.Number(last + 1)
		}
		index := l[LineIndex].Num
		if index <= last {
			return wrong("is not above that of the line before").within("index").item(i).within("lines")
		}
		if index > int64(b.Model.Lines) {
			return wrong("is above the " + strconv.Itoa(int(b.Model.Lines)) + " lines of the model").within("index").item(i).within("lines")
		}
		for _, f := range [...]int{LineUser, LinePassword, LineServer} {
			if !l[f].Set {
				return wrong("is required").within(Line.Fields[f].Name).item(i).within("lines")
			}
		}
		complete(l)
		value, err := b.timer(timers, TimersRegister, l[LineRegister].Num, registerName(index), b.pack.Register)
		if err != nil {
			switch {
			case stored[i][LineRegister].Set:
				err = err.item(i).within("lines")
			case l[LineRegister].Set:
				err = err.within("line") // the tenant's, for all its lines
			}
			return err
		}
		l[LineRegistration] = value
		last = index
		if !active || l[LineEnabled].Num == 0 {
			b.Timers = b.Timers[:len(b.Timers)-btoi(value.Set)]
			continue
		}
		for ; used+1 < index; used++ {
			free = append(free, b.slot(0, used+1))
		}
		used = index
		lines = append(lines, l)
	}
	for ; used < int64(b.Model.Lines); used++ {
		free = append(free, b.slot(0, used+1))
	}
	phone[PhoneLines] = record.Value{Set: true, List: lines}
	phone[PhoneFreeLines] = record.Value{Set: true, List: free}
	return nil
}

// complete derives what a line leaves open from what it says.
func complete(l record.Record) {
	port := record.Value{}
	switch l[LineTransport].Str {
	case "udp", "tcp":
		port = record.Number(5060)
	case "tls":
		port = record.Number(5061)
	}
	// With NAPTR the DNS names the port.
	if !l[LinePort].Set {
		l[LinePort] = port
	}
	if l[LineOutboundProxy].Set && !l[LineOutboundPort].Set {
		l[LineOutboundPort] = port
	}
	if !l[LineAuthUser].Set {
		l[LineAuthUser] = l[LineUser]
	}
	if !l[LineLabel].Set {
		l[LineLabel] = l[LineUser]
	}
	if !l[LineDisplayName].Set {
		l[LineDisplayName] = l[LineLabel]
	}
}

// ownKeys copies the keys that came from the tenant, so that the labels of this
// device do not stay on them.
func (b *Builder) ownKeys(phone record.Record) {
	theirs := phone[Keys].List
	keys := b.Arena.List(len(theirs))
	for _, k := range theirs {
		own := b.Arena.New(len(k))
		copy(own, k)
		keys = append(keys, own)
	}
	phone[Keys].List = keys
}

func (b *Builder) keys(phone record.Record, active bool) *Error {
	a := b.Arena
	lines := phone[PhoneLines].List
	var keys []record.Record
	if phone[Keys].Set {
		keys = phone[Keys].List
	} else if active {
		// Nobody laid out the keys: one for each line, as the phones do whose keys can
		// be lines.
		keys = a.List(len(lines))
		for i := 0; i < len(lines) && i < int(b.Model.Keys) && !b.Model.NoLineKeys; i++ {
			k := a.New(len(Key.Fields))
			k[KeyType] = record.Text("line")
			k[KeyLine] = lines[i][LineIndex]
			keys = append(keys, k)
		}
		phone[Keys] = record.Value{Set: true, List: keys}
	}
	free := a.List(int(b.Model.Keys))
	module, last := int64(0), int64(0)
	// room is what the module has, and gaps the free keys up to a key.
	room := int64(b.Model.Keys)
	gaps := func(to int64) {
		for ; last < to; last++ {
			free = append(free, b.slot(module, last+1))
		}
	}
	for i, k := range keys {
		b.inherit(Key.Fields, k, nil)
		if k[KeyModule].Num < module {
			return wrong("is below that of the key before").within("module").item(i).within("keys")
		}
		if k[KeyModule].Num > module {
			gaps(room)
			module, last, room = k[KeyModule].Num, 0, int64(b.Model.ModuleKeys)
			if module > int64(b.Model.Modules) {
				return wrong("is above the " + strconv.Itoa(int(b.Model.Modules)) + " modules of the model").within("module").item(i).within("keys")
			}
		}
		if !k[KeyIndex].Set {
			k[KeyIndex] = record.Number(last + 1)
		}
		index := k[KeyIndex].Num
		if index <= last {
			return wrong("is not above that of the key before").within("index").item(i).within("keys")
		}
		if index > room {
			where := " keys of the model"
			if module > 0 {
				where = " keys of a module"
			}
			return wrong("is above the " + strconv.FormatInt(room, 10) + where).within("index").item(i).within("keys")
		}
		if !k[KeyType].Set {
			return wrong("is required").within("type").item(i).within("keys")
		}
		switch k[KeyType].Str {
		case "blf", "speed-dial", "intercom", "park", "retrieve-park", "transfer", "dtmf":
			if !k[KeyValue].Set {
				return wrong("is required for a key of this type").within("value").item(i).within("keys")
			}
		}
		line := find(lines, k[KeyLine].Num)
		if line == nil && needsLine(k[KeyType].Str) {
			return wrong("is not the index of an enabled line of this device").within("line").item(i).within("keys")
		}
		if !k[KeyLabel].Set {
			k[KeyLabel] = k[KeyValue]
			if k[KeyType].Str == "line" {
				k[KeyLabel] = line[LineLabel]
			}
		}
		gaps(index - 1)
		last = index
	}
	gaps(room)
	phone[PhoneFreeKeys] = record.Value{Set: true, List: free}
	return nil
}

// needsLine says whether a key of this type does something with a line.
func needsLine(keyType string) bool {
	switch keyType {
	case "none", "forward", "dnd", "hold", "conference", "dtmf", "directory":
		return false
	}
	return true
}

func find(lines []record.Record, index int64) record.Record {
	for _, l := range lines {
		if l[LineIndex].Num == index {
			return l
		}
	}
	return nil
}

func (b *Builder) slot(module, index int64) record.Record {
	s := b.Arena.New(2)
	s[0], s[1] = record.Number(module), record.Number(index)
	return s
}

func (b *Builder) codecs(phone record.Record) *Error {
	if !phone[CodecsField].Set {
		return nil
	}
	listed := phone[CodecsField].List
	codecs := b.Arena.List(len(listed) + len(b.pack.Codecs))
	add := func(name string, priority int) {
		c := b.Arena.New(3)
		c[0], c[1], c[2] = record.Text(name), record.Truth(priority > 0), record.Number(int64(priority))
		codecs = append(codecs, c)
	}
	for i, c := range listed {
		if contains(codecs, c[0].Str) {
			return wrong("appears twice").item(i).within("codecs")
		}
		if !has(b.pack.Codecs, c[0].Str) {
			return wrong("is not a codec of the phone").item(i).within("codecs")
		}
		add(c[0].Str, i+1)
	}
	for _, name := range b.pack.Codecs {
		if !contains(codecs, name) {
			add(name, 0)
		}
	}
	phone[PhoneCodecs] = record.Value{Set: true, List: codecs}
	return nil
}

func contains(list []record.Record, first string) bool {
	for _, r := range list {
		if r[0].Str == first {
			return true
		}
	}
	return false
}

func has(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// template finds the version that is chosen for the device's vendor.
func (b *Builder) template(tenant, device record.Record) *Error {
	b.Template = ""
	for _, from := range [...]record.Record{device, tenant} {
		for _, choice := range from[TemplateField].List {
			if choice[PairName].Str != b.pack.Vendor {
				continue
			}
			if b.Template = choice[PairValue].Str; !b.pack.HasVersion(b.Template) {
				return wrong("is not a version of this vendor's templates").within(b.pack.Vendor).within("template")
			}
			return nil
		}
	}
	return nil
}

// extra collects the extra settings of the device's vendor, sorted by name so
// that the order of a stored document never shows in a file.
func (b *Builder) extra(phone, tenant, device record.Record) *Error {
	var all []record.Record
	for _, from := range [...]record.Record{device, tenant} {
		for _, vendor := range from[ExtraField].List {
			if vendor[PairName].Str != b.pack.Vendor {
				continue
			}
			for _, s := range vendor[PairValue].List {
				name := s[PairName].Str
				if !b.pack.Allows(name) {
					return wrong("is not a setting that a profile may set").within(name).within(b.pack.Vendor).within("extra")
				}
				if b.Model.ASCII {
					if err := ascii(Setting, s); err != nil {
						err.Path = ""
						return err.within(name).within(b.pack.Vendor).within("extra")
					}
				}
				i := 0
				for i < len(all) && all[i][PairName].Str < name {
					i++
				}
				if i < len(all) && all[i][PairName].Str == name {
					continue // the device's own, which came first
				}
				all = append(all, nil)
				copy(all[i+1:], all[i:])
				all[i] = s
			}
		}
	}
	phone[PhoneExtra] = record.Value{Set: true, List: all}
	return nil
}

// registerNames saves building the name of a timer for the lines that desk
// phones have.
var registerNames = [...]string{
	"register.1", "register.2", "register.3", "register.4", "register.5", "register.6", "register.7", "register.8",
	"register.9", "register.10", "register.11", "register.12", "register.13", "register.14", "register.15", "register.16",
}

func registerName(index int64) string {
	if index <= int64(len(registerNames)) {
		return registerNames[index-1]
	}
	return "register." + strconv.FormatInt(index, 10)
}

func upper(mac string) string {
	var b [12]byte
	copy(b[:], mac)
	for i := range b {
		if b[i] >= 'a' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b[:])
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
