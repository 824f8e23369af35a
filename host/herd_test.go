package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stagger/host/accesslog"
	"stagger/host/checkins"
)

// inUTC makes this machine's zone UTC for one test.
func inUTC(t *testing.T) {
	old := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = old })
}

// logged is a line of the log of stagger serve, some seconds after 2024-03-04 08:00.
func logged(at float64, mac int, more string) string {
	when := time.Date(2024, 3, 4, 8, 0, 0, int(at*1e9), time.UTC)
	return fmt.Sprintf(`{"time":%q,"level":"INFO","msg":"request","remote":"203.0.113.7","tenant":"demo","mac":"001565aabb%02x","vendor":"yealink","file":"config","timers":"checkin=86400","outcome":"ok"%s}`+"\n",
		when.Format(time.RFC3339Nano), mac, more)
}

func TestHerd(t *testing.T) {
	inUTC(t)
	m := newMachine(t)
	dir := t.TempDir()
	quiet, loop := "", ""
	for i := range 3 {
		quiet += logged(float64(i)*100, i+1, "")
	}
	for i := range 6 {
		loop += logged(1000+float64(i)*90, 1, `,"hash":"00000000000000aa"`)
	}
	one := write(t, filepath.Join(dir, "one.log"), quiet)
	two := write(t, filepath.Join(dir, "two.log"), loop)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(z, quiet); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	packed := write(t, filepath.Join(dir, "one.log.gz"), zipped.String())
	bad := write(t, filepath.Join(dir, "bad.log"), quiet+"SECRET\n"+strings.Repeat("{SECRET\n", 7)+logged(0, 1, ""))
	rubbish := write(t, filepath.Join(dir, "rubbish"), "SECRET\n")
	empty := write(t, filepath.Join(dir, "empty"), "")
	bare := write(t, filepath.Join(dir, "bare.csv"), "time,mac\n2024-03-04 08:00,001565aabb01\n2024-03-04 08:00:00,001565aabb01\n2024-03-04 10:00:00,001565aabb02\n")
	for _, c := range []struct {
		args   []string
		status int
		out    []string
		errs   string
	}{
		{[]string{one}, 0, []string{"from              2024-03-04 08:00:00\nto                2024-03-04 08:03:20\nrequests          3\ncheck-ins         3\ndevices           3\noutcomes          ok 3\n", "no clusters\n"}, ""},
		{[]string{packed}, 0, []string{"requests          3\n"}, ""},
		{[]string{two, one}, 1, []string{"requests          9\n", "\nALARM: reboot loops: 1\n  001565aabb01  demo  yealink  told 86,400 s  6 check-ins from 2024-03-04 08:16:40 to 2024-03-04 08:24:10, 90 s apart at least; the bytes did not change"}, "alarm: 1 reboot loops, 0 files that change by themselves\n"},
		{[]string{two, "--until", "2024-03-04 08:20"}, 0, []string{"to                2024-03-04 08:20:00\nrequests          3\n"}, ""},
		{[]string{two, "--since", "2024-03-04T08:19:00Z", "--until", "2024-03-04T08:21:00+00:00"}, 0, []string{"requests          1\n"}, ""},
		{[]string{two, "--since", "1h"}, 0, []string{"no requests\n"}, ""},
		{[]string{one, "--fleet", m.fleet}, 0, []string{"not in the fleet  0\ndid not come      0\n"}, ""},
		{[]string{two, "--fleet", m.fleet, "--until", "2024-03-04 08:20"}, 0, []string{"did not come      2\n", "devices of the fleet that did not come: 2\n  001565aabb02\n  001565aabb03\n"}, ""},
		{[]string{bare, "--checkin", "3600"}, 0, []string{"phones overdue: 1\n  001565aabb01  told 3,600 s  seen last at 2024-03-04 08:00:00, overdue by 60 min\n"}, bare + ":2: no time\n"},
		{[]string{bare}, 0, []string{"requests          2\n"}, bare + ":2: no time\n"},
		{[]string{bad, "--late", "1m"}, 0, []string{"requests          3\n"}, bad + ":4: no time\n" + bad + ":5: JSON that is cut off or broken\n" + bad + ":6: JSON that is cut off or broken\n" + bad + ":7: JSON that is cut off or broken\n" + bad + ":8: JSON that is cut off or broken\n" + bad + ": and 3 more of 12 lines\n1 lines are more than 1m0s older than one before them and are left out: give each log as a file of its own, or --late\n"},
		{[]string{rubbish}, 1, nil, rubbish + ":1: no time\nno line is one of a request\n"},
		{[]string{empty}, 0, []string{"no requests\n"}, ""},
		{[]string{dir}, 1, nil, "read " + dir + ": read " + dir + ": is a directory\n"},
		{[]string{"nothing"}, 1, nil, "open nothing: no such file or directory\n"},
		{nil, 2, nil, "requires at least 1 arg"},
		{[]string{one, "--since", "yesterday"}, 2, nil, "--since: \"yesterday\" is not a time\n"},
		{[]string{one, "--until", "-5m"}, 2, nil, "--until: \"-5m\" is not a time\n"},
		{[]string{one, "--since", "1h", "--until", "2h"}, 2, nil, "--until is not after --since\n"},
		{[]string{one, "--late", "-1s"}, 2, nil, "--late: from 0 to 24h\n"},
		{[]string{"-", "-"}, 2, nil, "standard input can be one file only\n"},
		{[]string{"-", "--fleet", "-"}, 2, nil, "standard input can be one file only\n"},
		{[]string{"nothing", "--follow"}, 1, nil, "open nothing: no such file or directory\n"},
	} {
		status, out, errs := m.do(append([]string{"herd"}, c.args...)...)
		if status != c.status || (c.errs == "") != (errs == "") || !strings.Contains(errs, c.errs) || c.out == nil && out != "" || strings.Contains(out+errs, "SECRET") {
			t.Errorf("%v: status %d\n%s%s\nwant %d, %s", c.args, status, out, errs, c.status, c.errs)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("%v:\n%swant\n%s", c.args, out, want)
			}
		}
	}
	m.stdin = strings.NewReader(quiet)
	if status, out, _ := m.do("herd", "-", two, "--json"); status != 1 {
		t.Error(status)
	} else {
		var report struct {
			checkins.Report
			Lines int `json:"lines"`
			Bad   int `json:"bad_lines"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err)
		}
		if report.Lines != 9 || report.Bad != 0 || report.Requests != 9 || len(report.Loops) != 1 || report.Loops[0].MAC != 0x1565aabb01 || report.Loops[0].CheckIns != 6 || report.Clusters == nil {
			t.Errorf("%s", out)
		}
	}
	m.stdout = broken{}
	if status, _, errs := m.do("herd", one); status != 1 || errs != "unplugged\n" {
		t.Errorf("status %d: %s", status, errs)
	}
}

// TestHerdFollow steps through a log that grows: each step writes what a minute brings,
// and the clock is the log's.
func TestHerdFollow(t *testing.T) {
	inUTC(t)
	log := filepath.Join(t.TempDir(), "a.log")
	grow := func(text string) {
		f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Date(2024, 3, 4, 8, 0, 0, 0, time.UTC)
	minute := 0
	// minutes are what is written before the clock shows that minute.
	minutes := func() {
		at := float64(minute) * 60
		text := logged(at+10, 150+2*minute, "") + logged(at+40, 151+2*minute, "")
		minute++
		switch minute {
		case 5: // phones that get their power back
			for i := range 60 {
				text += logged(at+50+float64(i)/20, i, "")
			}
		case 7:
			if err := os.Rename(log, log+".1"); err != nil {
				t.Fatal(err)
			}
		case 9:
			if err := os.Truncate(log, 0); err != nil {
				t.Fatal(err)
			}
		case 10:
			text += "what\n"
		}
		if minute >= 9 { // the bytes of a file change by themselves
			text += logged(at+55, 100, fmt.Sprintf(`,"hash":"%016x","documents":"00000000000000bb"`, minute))
		}
		grow(text)
	}
	run := func(asJSON bool) (string, string, error) {
		m := newMachine(t)
		minute = 0
		if err := errors.Join(os.Remove(log), os.Remove(log+".1")); err != nil && minute > 0 {
			t.Fatal(err)
		}
		grow("")
		minutes()
		h := &watch{world: &m.world, json: asJSON, late: 5 * time.Second, options: checkins.Options{},
			now: func() time.Time { return begin.Add(time.Duration(minute) * time.Minute) },
			wait: func() error {
				if minute == 12 {
					return errors.New("enough")
				}
				minutes()
				return nil
			}}
		err := h.follow([]string{log}, accesslog.Options{Now: h.now, Timed: true})
		return m.out.String(), m.errors.String(), err
	}
	out, errs, err := run(false)
	if err == nil || err.Error() != "alarm: 0 reboot loops, 1 files that change by themselves" || errs != log+":6: no time\n" {
		t.Errorf("%v, %s", err, errs)
	}
	want := `08:02:00  4 check-ins, 4 requests; 4 devices so far, 0 overdue, 0 reboot loops, 0 files that change by themselves
08:03:00  2 check-ins, 2 requests; 6 devices so far, 0 overdue, 0 reboot loops, 0 files that change by themselves
08:04:00  2 check-ins, 2 requests; 8 devices so far, 0 overdue, 0 reboot loops, 0 files that change by themselves
08:05:00  62 check-ins, 62 requests; 70 devices so far, 0 overdue, 0 reboot loops, 0 files that change by themselves
08:06:00  2 check-ins, 2 requests; 72 devices so far, 0 overdue, 0 reboot loops, 0 files that change by themselves
60 phones within 3 s at 2024-03-04 08:04:50
  tenant demo 100%, yealink 100%, 203.0.113.7 100%, 20 in the fullest second, usual: `
	if !strings.HasPrefix(out, want) {
		t.Errorf("%s\nwant\n%s", out, want)
	}
	for _, want := range []string{
		"\n08:08:00  2 check-ins, 2 requests;", // in the file of the same name
		"\nALARM: a file changes by itself: 001565aabb64  demo  yealink  told 86,400 s  config  1 changes, the last at 2024-03-04 08:09:55, 1 with the same documents\n",
		"\n08:12:00  3 check-ins, 3 requests;",
		"\nfrom              2024-03-04 08:00:10\nto                2024-03-04 08:11:55\nrequests          88\n",
	} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%s\nonce in\n%s", want, out)
		}
	}
	out, _, _ = run(true)
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, kind := range []string{"cluster", "summary", "unstable", "clusters"} {
			if object[kind] != nil {
				kinds[kind]++
			}
		}
	}
	if fmt.Sprint(kinds) != "map[cluster:1 clusters:1 summary:11 unstable:2]" {
		t.Errorf("%v\n%s", kinds, out)
	}
}

// TestHerdFollowsPipe wants a report at the end of standard input.
func TestHerdFollowsPipe(t *testing.T) {
	inUTC(t)
	m := newMachine(t)
	r, w := io.Pipe()
	m.stdin = r
	written := make(chan error, 1)
	go func() {
		var err error
		for i := range 3 {
			_, e := io.WriteString(w, logged(float64(i)*100, i, ""))
			err = errors.Join(err, e)
		}
		written <- errors.Join(err, w.Close())
	}()
	if status, out, errs := m.do("herd", "--follow", "-"); status != 0 || !strings.Contains(out, "requests          3\n") || errs != "" {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
