package spread

// Place is the algorithm that puts a hash on one of the slots of a window. A
// tenant's profile names it, because changing it changes every phone's file.
type Place uint8

const (
	// Jump is jump consistent hash (Lamping and Veach, arXiv:1406.2294).
	// Widening a window from 600 to 900 moves 33% of the phones, the least
	// possible; each one that moves is a changed file.
	Jump Place = iota
	// Modulo is hash mod slots: anybody can check it by hand, but the same
	// widening moves 67%.
	Modulo
)

// Limits says what kept a window from its configured width.
type Limits uint8

const (
	// Floor: the configured floor cut the window.
	Floor Limits = 1 << iota
	// Minimum: the smallest value that the vendor accepts cut the window.
	Minimum
	// Unit: fewer values exist than seconds, for the phone counts coarser.
	Unit
	// Fixed: one value is left; the phone keeps its interval unspread.
	Fixed
	// OneDay: a time of the day has no more than a day to be in.
	OneDay
	// Native: the phone draws the moment itself, and all phones have the interval.
	Native
)

// Day is a day in seconds. That a clock is put forward or back is no business of
// times of the day: they are those of the wall clock.
const Day = 86400

// Timer is one periodic duty of a phone, as it is configured.
type Timer struct {
	// Interval, Window and Floor are seconds. The value is at most Interval,
	// less than Window below it, and never below Floor.
	Interval, Window, Floor uint64
	// Unit is what the vendor's parameter counts in: 1, 60 or 3600 seconds.
	Unit uint64
	// Min and Max are the vendor's range for the parameter, counted in Unit.
	// Max 0 means no upper limit.
	Min, Max uint64
	// Days is 0 for a phone that counts an interval. Other phones look at the clock:
	// they come at a time of the day, on every day or every few days, Days at most.
	// The value is then that time, at least Base seconds after midnight and less than
	// Window later, and Interval is the whole number of days between two times, in
	// seconds. Floor, Min and Max have no meaning, and Unit divides a day.
	Days, Base uint64
	// Native says that the phone draws the moment of each round, or of the first, at
	// random over the whole interval. Then there is nothing to take off.
	Native bool
	Place  Place
}

// TimeOfDay says whether the value is a time of the day and not an interval.
func (t Timer) TimeOfDay() bool { return t.Days > 0 }

// AppendClock appends seconds after midnight as HH:MM.
func AppendClock(b []byte, seconds uint64) []byte {
	hour, minute := byte(seconds/3600), byte(seconds/60%60)
	return append(b, '0'+hour/10, '0'+hour%10, ':', '0'+minute/10, '0'+minute%10)
}

// Value is what one phone gets, and how it came about.
type Value struct {
	// Hash is the xxHash64 of the key with seed 0.
	Hash uint64
	// Slots is how many values the phones of a fleet share out.
	Slots uint64
	// Offset and Seconds add up to the interval (rounded down to Unit). Of a time of
	// the day Seconds are those after midnight, and Offset those after the base.
	Offset, Seconds uint64
	// Units is Seconds in the unit of the vendor's parameter.
	Units  uint64
	Limits Limits
}
