// Package drain computes how a backlog of refused phones drains, by what they are
// told.
//
// It owns the strategies of answering and the count of attempts, second by second.
// Phones do what they are told and nothing else; it must never read a clock, and
// gives the same numbers for the same seed.
package drain

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"stagger/host/admission"
)

// ErrNever is that of a backlog which never drains.
var ErrNever = errors.New("never drains")

// A Queue is a backlog and the server that it waits for.
type Queue struct {
	// Backlog is how many phones come at time 0, in the same second.
	Backlog int
	// Headroom is how many requests a second the server takes for them, Burst how
	// many at once after a pause (at least those of a second), and Arrivals how
	// many new phones come each second meanwhile.
	Headroom, Burst, Arrivals float64
	// Retry is the Retry-After in seconds, for strategies that have one.
	Retry int
	// Slots is the rate at which slots are reserved.
	Slots float64
	Seed  uint64
	// Horizon is how many seconds are followed at most; 0 is a week.
	Horizon int
}

// A Result is what one strategy does. Times are seconds.
type Result struct {
	Strategy string `json:"strategy"`
	Text     string `json:"text"`
	// Attempts is the mean number of requests of a phone until it is served.
	Attempts float64 `json:"attempts_per_phone"`
	// Peak is the largest number of requests in one second after the first.
	Peak int `json:"peak"`
	// Half and Last are when half of all and the last one were served; Last is
	// when nobody waited any more. Without Drained it is the horizon.
	Half    int  `json:"half_served"`
	Last    int  `json:"last_served"`
	Drained bool `json:"drained"`
}

// Shortest is the time that any strategy takes at least: B/(H - a).
func (q Queue) Shortest() (float64, error) {
	if q.Arrivals >= q.Headroom {
		return 0, fmt.Errorf("%w: %g new requests a second are not below the headroom of %g", ErrNever, q.Arrivals, q.Headroom)
	}
	return float64(q.Backlog) / (q.Headroom - q.Arrivals), nil
}

// A strategy tells phones when to come again. The class of a phone is how often
// it was refused, as far as a strategy has a use for it.
type strategy struct {
	name, text string
	// later adds n refused phones of a class to the seconds in which they come.
	later func(s *state, now, class, n int)
}

const (
	classes = 8
	// RFC 5626, section 4.5: half to all of 30 s, doubled each time, half an hour
	// at most.
	flowBase, flowMax = 30.0, 1800.0
)

func strategies(q Queue) []strategy {
	return []strategy{
		{"constant", fmt.Sprintf("Retry-After: %d", q.Retry), func(s *state, now, _, n int) {
			s.add(now+q.Retry, 0, n)
		}},
		{"random", fmt.Sprintf("Retry-After: a random number from 1 to %d", q.Retry), func(s *state, now, _, n int) {
			for range n {
				s.add(now+1+s.random.IntN(q.Retry), 0, 1)
			}
		}},
		{"rfc5626", "no Retry-After; phones back off as in RFC 5626", func(s *state, now, class, n int) {
			wait := min(flowMax, flowBase*math.Exp2(float64(class+1)))
			for range n {
				s.add(now+int(math.Ceil(wait*(0.5+0.5*s.random.Float64()))), min(class+1, classes-1), 1)
			}
		}},
		{"token bucket", "Retry-After: 1, when the next token is there", func(s *state, now, _, n int) {
			s.add(now+1, 0, n)
		}},
		{"slots", fmt.Sprintf("Retry-After: a slot of one's own, %.4g a second", q.Slots), func(s *state, now, _, n int) {
			for range n {
				s.add(now+s.slots.Reserve(float64(now), 0), 0, 1)
			}
		}},
	}
}

// Compare runs every strategy. The error is ErrNever, or one of the arguments.
func (q Queue) Compare() ([]Result, error) {
	switch {
	case q.Backlog < 1 || q.Backlog > 1<<24:
		return nil, fmt.Errorf("a backlog is from 1 to %d phones", 1<<24)
	case !(q.Headroom >= 1 && q.Headroom <= 1e9 && q.Arrivals >= 0 && q.Burst >= 0 && q.Burst <= 1e9):
		return nil, errors.New("the headroom is from 1 to 1e9 requests a second, arrivals and burst are not below 0")
	case q.Retry < 1 || q.Retry > 86400:
		return nil, errors.New("retry is from 1 s to a day")
	case !(q.Slots > 0 && q.Slots <= 1e9):
		return nil, errors.New("slots are reserved at a rate above 0")
	}
	if _, err := q.Shortest(); err != nil {
		return nil, err
	}
	if q.Horizon == 0 {
		q.Horizon = 7 * 86400
	}
	var results []Result
	for _, s := range strategies(q) {
		results = append(results, q.run(s))
	}
	return results, nil
}

// state is the phones that wait, by the second in which they come. Phones of one
// class are like each other, so they are counted and not kept.
type state struct {
	due     [][classes]int
	waiting int
	random  *rand.Rand
	slots   *admission.Calendar
}

func (s *state) add(at, class, n int) {
	for at >= len(s.due) {
		s.due = append(s.due, [classes]int{})
	}
	s.due[at][class] += n
	s.waiting += n
}

func (q Queue) run(how strategy) Result {
	s := &state{random: rand.New(rand.NewPCG(q.Seed, 0)), slots: admission.NewCalendar(q.Slots)}
	r := Result{Strategy: how.name, Text: how.text, Last: q.Horizon}
	s.add(0, 0, q.Backlog)
	tokens, fresh, attempts, phones := 0.0, 0.0, 0, q.Backlog
	var served []int // by second
	for now := range q.Horizon {
		come := [classes]int{}
		if now < len(s.due) {
			come = s.due[now]
		}
		// New phones come from the first second on, as evenly as can be.
		if now > 0 {
			n := int(math.Floor(fresh+q.Arrivals)) - int(math.Floor(fresh))
			fresh += q.Arrivals
			come[0] += n
			s.waiting += n
			phones += n
		}
		total := 0
		for _, n := range come {
			total += n
		}
		attempts += total
		if now > 0 {
			r.Peak = max(r.Peak, total)
		}
		tokens = min(max(q.Burst, q.Headroom), tokens+q.Headroom)
		lucky := min(total, int(tokens+1e-9))
		tokens -= float64(lucky)
		s.waiting -= total
		refused := s.draw(come, total, lucky)
		for class, n := range refused {
			if n > 0 {
				how.later(s, now, class, n)
			}
		}
		served = append(served, lucky)
		if s.waiting == 0 {
			r.Last, r.Drained = now, true
			break
		}
	}
	sum := 0
	for _, n := range served {
		sum += n
	}
	half := 0
	for at, n := range served {
		if half += n; 2*half >= sum {
			r.Half = at
			break
		}
	}
	r.Attempts = float64(attempts) / float64(phones)
	return r
}

// draw takes out those who are lucky, each phone as likely as any other, and
// returns the rest.
func (s *state) draw(come [classes]int, total, lucky int) [classes]int {
	if lucky == total {
		return [classes]int{}
	}
	if come[0] == total {
		come[0] -= lucky
		return come
	}
	for range lucky {
		k := s.random.IntN(total)
		total--
		for class := range come {
			if k < come[class] {
				come[class]--
				break
			}
			k -= come[class]
		}
	}
	return come
}
