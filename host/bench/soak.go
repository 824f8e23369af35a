package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"stagger/host/engine"
)

// soak answers the request of the bench n times through one instance of the
// module, and prints what the process and the module hold on the way: it must not
// grow, and no instance may be thrown away.
func soak(n int) error {
	all, err := contenders()
	if err != nil {
		return err
	}
	c := all[len(all)-1]
	want, err := c.answer()
	if err != nil {
		return err
	}
	first := string(want)
	fmt.Printf("%12s  %14s  %12s\n", "requests", "resident KiB", "Go heap KiB")
	for i := 0; ; i++ {
		if i%max(n/10, 1) == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Printf("%12d  %14s  %12d\n", i, resident(), m.HeapAlloc>>10)
		}
		if i == n {
			break
		}
		out, err := c.answer()
		if err != nil {
			return err
		}
		if string(out) != first {
			return fmt.Errorf("answer %d is not the first one", i+1)
		}
	}
	discards := c.engine.Stats().Discards
	for _, cause := range engine.Causes() {
		if discards[cause] > 0 {
			return fmt.Errorf("%d instances were thrown away: %s", discards[cause], cause)
		}
	}
	fmt.Println("all answers were the same bytes, and no instance was thrown away")
	return nil
}

// resident is how much memory the process has, as Linux tells.
func resident() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "-"
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB"))
		}
	}
	return "-"
}
