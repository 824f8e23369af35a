package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stagger/edge/profile"
	"stagger/host/accesslog"
	"stagger/host/checkins"
	"stagger/host/serve"
)

func herdCommand(w *world) *cobra.Command {
	var (
		fleetFile, htmlFile, since, until string
		value                             uint32
		late                              time.Duration
		follow, asJSON                    bool
	)
	c := &cobra.Command{
		Use:   "herd LOG...",
		Short: "see in logs how phones arrive: together, too often, no longer",
		Long: `Reads logs and says how the phones of a fleet arrive: evenly or in step, which came
together and why that may be, which reboot again and again, whose file changes by
itself, and who does not come any more. - is standard input; several logs are put
together by time, and gzip is seen by itself.

A log is that of stagger serve (JSON or text), what wrangler tail --format json prints
of the Worker, the log of nginx, Apache or Caddy in front of any provisioning server,
a syslog, or a CSV whose first row names its columns: anything with a time and the
MAC of a device on a line. What telemetry has summed up by the minute has no devices
and only counts. Lines may be mixed. Those that are not understood are
counted, and the first are named. Times without a zone are of this machine's.

A check-in is all files that a phone gets within a minute. Those of a second, or a
minute, are compared with arrivals that are independent of each other: for them the
variance divided by the mean (the index of dispersion) is 1. In brackets is where it
lies in 99 of 100 such logs; a herd is far above.

A cluster is a window of 1, 5, 20 or 60 seconds with so many arrivals that independent
phones, at the rate of the hour before it, show one in a thousand days; of 10 at
least. What it probably is, is a guess: by whether the phones were together before,
the time of day, addresses (one /24, or /48 of IPv6), tenants and vendors.

ALARM, and exit status 1:
  reboot loops: five check-ins in a row, each at most 10 minutes and 0.4 times what the
    phone was told after the one before (3 minutes, if the log does not say what it was
    told). Whether the bytes changed tells the file from the phone.
  files that change by themselves: other bytes from the same documents. If the log does
    not say what a file was made of: other bytes at four check-ins in a row, or twice
    back to those before. One way back is "suspicious". A new version of stagger may
    change files too: look at the time after it with --since.

Phones are overdue when they have not come a tenth of what they were told, and five
minutes, after they should have. One that draws its moment itself, in every interval
anew, may be listed for up to an interval although it will come. --checkin says what
phones were told where neither the log nor --fleet does.`,
		Example: `  stagger herd access.log
  stagger herd access.log.2.gz access.log.1 access.log --fleet fleet.jsonl --html herd.html
  stagger herd /var/log/nginx/access.log --checkin 86400 --since 24h
  stagger herd --follow /var/log/stagger.log
  npx wrangler tail --format json | stagger herd --follow -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			now := time.Now()
			o := checkins.Options{Zone: time.Local, Value: value}
			var err error
			if o.Since, err = moment(since, now); err != nil {
				return misuse(fmt.Errorf("--since: %w", err))
			}
			if o.Until, err = moment(until, now); err != nil {
				return misuse(fmt.Errorf("--until: %w", err))
			}
			if o.Until != 0 && o.Until <= o.Since {
				return misuse(errors.New("--until is not after --since"))
			}
			if late < 0 || late > 24*time.Hour {
				return misuse(errors.New("--late: from 0 to 24h"))
			}
			stdin := 0
			for _, name := range append(args, fleetFile) {
				if name == "-" {
					stdin++
				}
			}
			if stdin > 1 {
				return misuse(errors.New("standard input can be one file only"))
			}
			if fleetFile != "" {
				if o.Known, err = knownDevices(w, fleetFile); err != nil {
					return err
				}
			}
			lines := accesslog.Options{Zone: time.Local, Now: time.Now, Timed: true, Agent: serve.AgentClass}
			h := &watch{world: w, options: o, json: asJSON, html: htmlFile, late: late}
			if !follow {
				return h.read(args, lines)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			h.now = time.Now
			h.wait = func() error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Second):
					return nil
				}
			}
			return h.follow(args, lines)
		},
	}
	flags := c.Flags()
	flags.StringVar(&fleetFile, "fleet", "", "fleet file: whose devices are expected, and what they are told")
	flags.Uint32Var(&value, "checkin", 0, "seconds after which phones were told to come again, where nothing says it")
	flags.StringVar(&since, "since", "", `requests from this time on: "2026-11-30 09:00", RFC 3339, or how long ago, as in 24h`)
	flags.StringVar(&until, "until", "", "requests before this time")
	flags.BoolVar(&follow, "follow", false, "go on reading as the logs grow, through renaming and truncation; a line a minute, and every cluster")
	flags.DurationVar(&late, "late", 0, "how much later than newer ones a line may stand (default: 2m, with --follow 10s)")
	flags.StringVar(&htmlFile, "html", "", "write a page with plots to this file")
	flags.BoolVar(&asJSON, "json", false, "print the whole report as JSON; with --follow one object a line")
	return c
}

// moment reads a time: a date with or without a time of day, RFC 3339, or how long
// ago. It is in nanoseconds since 1970, and 0 for no text.
func moment(text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UnixNano(), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil && t.Year() >= 2000 && t.Year() < 2100 {
			return t.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("%q is not a time", text)
}

// knownDevices are the devices of a fleet and what their check-in timers are.
func knownDevices(w *world, file string) (map[accesslog.MAC]uint32, error) {
	store, err := openFleet(w, file)
	if err != nil {
		return nil, err
	}
	devices, err := fleetDevices(store)
	if err != nil {
		return nil, err
	}
	known := make(map[accesslog.MAC]uint32, len(devices))
	for _, d := range devices {
		if d.State == profile.Disabled {
			continue
		}
		var value uint64
		for _, t := range d.Timers {
			switch {
			case t.Name != "checkin":
			case t.Timer.TimeOfDay():
				value = 86400
			default:
				value = t.Value.Seconds
			}
		}
		known[accesslog.ParseMAC(d.MAC)] = uint32(value)
	}
	return known, nil
}

// watch is one run of the command.
type watch struct {
	*world
	options checkins.Options
	json    bool
	html    string
	late    time.Duration
	// For logs that are followed: now is the clock, and wait waits for a while or says
	// that it is time to stop.
	now  func() time.Time
	wait func() error
}

// read reads logs from their beginning to their end.
func (h *watch) read(names []string, o accesslog.Options) error {
	show, clear := h.progress()
	defer clear()
	var size, done int64
	var sources []*accesslog.Source
	for _, name := range names {
		name, in, err := h.open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		if f, ok := in.(*os.File); ok {
			if info, err := f.Stat(); err == nil {
				size += info.Size()
			}
		}
		log, err := accesslog.Unzipped(&tally{in, &done})
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		sources = append(sources, accesslog.Open(name, log, o))
	}
	analysis := checkins.New(h.options)
	merged := accesslog.Merge(sources...)
	order := accesslog.Order{Lag: cmp.Or(h.late, 2*time.Minute)}
	for n := 0; ; n++ {
		if n%4096 == 0 && size > 0 {
			show("reading", min(1, float64(done)/float64(size)))
		}
		r, err := merged.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		order.Add(r, analysis.Add)
	}
	order.Flush(analysis.Add)
	clear()
	return h.end(analysis.Report(), sources, &order)
}

// tally counts the bytes that are read.
type tally struct {
	io.Reader
	n *int64
}

func (t *tally) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	*t.n += int64(n)
	return n, err
}

// reading is how much of the logs was understood.
type reading struct {
	Lines int `json:"lines"`
	Bad   int `json:"bad_lines"`
	Late  int `json:"late_lines"`
}

// end prints the report and says of what lines it is not.
func (h *watch) end(report *checkins.Report, sources []*accesslog.Source, order *accesslog.Order) error {
	total := reading{Late: order.Late}
	for _, s := range sources {
		total.Lines, total.Bad = total.Lines+s.Lines, total.Bad+s.Bad
		for _, p := range s.Problems {
			fmt.Fprintln(h.stderr, p)
		}
		if more := s.Bad - len(s.Problems); more > 0 {
			fmt.Fprintf(h.stderr, "%s: and %d more of %d lines\n", s.Name, more, s.Lines)
		}
	}
	if order.Late > 0 {
		fmt.Fprintf(h.stderr, "%d lines are more than %s older than one before them and are left out: give each log as a file of its own, or --late\n", order.Late, order.Lag)
	}
	if report.Requests == 0 && total.Bad > 0 {
		return errors.New("no line is one of a request")
	}
	if h.html != "" {
		if err := writeFile(h.html, report.WritePage); err != nil {
			return err
		}
	}
	var err error
	if h.json {
		err = json.NewEncoder(h.stdout).Encode(struct {
			reading
			*checkins.Report
		}{total, report})
	} else {
		err = report.WriteText(h.stdout)
	}
	if err != nil {
		return err
	}
	if report.Alarm() {
		return fmt.Errorf("alarm: %d reboot loops, %d files that change by themselves", len(report.Loops), len(report.Unstable))
	}
	return nil
}

// every is how often a log that is followed gets a line of summary.
const every = time.Minute

// follow reads logs as they grow, until it is told to stop or all have ended.
func (h *watch) follow(names []string, o accesslog.Options) error {
	var sources []*accesslog.Source
	for _, name := range names {
		if name == "-" {
			sources = append(sources, accesslog.Open("<stdin>", accesslog.NewPipe(h.stdin), o))
			continue
		}
		tail, err := accesslog.Follow(name)
		if err != nil {
			return err
		}
		defer tail.Close()
		sources = append(sources, accesslog.Open(name, tail, o))
	}
	var broken error
	say := func(text string, object any) {
		switch {
		case broken != nil:
		case h.json:
			broken = json.NewEncoder(h.stdout).Encode(object)
		default:
			_, broken = fmt.Fprintln(h.stdout, text)
		}
	}
	options := h.options
	options.Announce = func(c *checkins.Cluster) { say(c.String(), map[string]any{"cluster": c}) }
	analysis := checkins.New(options)
	order := accesslog.Order{Lag: cmp.Or(h.late, 10*time.Second)}
	summary := summary{said: map[string]bool{}}
	next := h.now().Add(every)
	ended := make([]bool, len(sources))
	for {
		open := false
		for i, s := range sources {
			for !ended[i] {
				r, err := s.Next()
				if err == accesslog.ErrIdle {
					open = true
					break
				} else if err == io.EOF {
					ended[i] = true
				} else if err != nil {
					return err
				} else {
					order.Add(r, analysis.Add)
				}
			}
		}
		now := h.now()
		analysis.Advance(order.Release(now, analysis.Add))
		if !now.Before(next) {
			next = now.Add(every)
			summary.say(now, analysis.Devices(), say)
		}
		if broken != nil {
			return broken
		}
		if !open || h.wait() != nil {
			break
		}
	}
	order.Flush(analysis.Add)
	return h.end(analysis.Report(), sources, &order)
}

// summary is what is said of a log that is followed once a minute.
type summary struct {
	checkIns, requests int
	said               map[string]bool // alarms
}

func (s *summary) say(now time.Time, r *checkins.Report, say func(text string, object any)) {
	say(fmt.Sprintf("%s  %s check-ins, %s requests; %s devices so far, %s overdue, %d reboot loops, %d files that change by themselves",
		now.In(time.Local).Format(time.TimeOnly), thousands(float64(r.CheckIns-s.checkIns)), thousands(float64(r.Requests-s.requests)),
		thousands(float64(r.Devices)), thousands(float64(len(r.Overdue))), len(r.Loops), len(r.Unstable)),
		map[string]any{"summary": map[string]any{
			"at": now, "check_ins": r.CheckIns - s.checkIns, "requests": r.Requests - s.requests, "devices": r.Devices,
			"overdue": len(r.Overdue), "reboot_loops": len(r.Loops), "unstable": len(r.Unstable),
		}})
	s.checkIns, s.requests = r.CheckIns, r.Requests
	for _, l := range r.Loops {
		s.once("loop "+l.MAC.String(), "ALARM: reboot loop: "+l.String(), map[string]any{"reboot_loop": l}, say)
	}
	for _, c := range r.Unstable {
		s.once("file "+c.MAC.String()+c.File, "ALARM: a file changes by itself: "+c.String(), map[string]any{"unstable": c}, say)
	}
}

func (s *summary) once(key, text string, object any, say func(text string, object any)) {
	if !s.said[key] {
		s.said[key] = true
		say(text, object)
	}
}
