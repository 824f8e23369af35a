//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file to who owns another, where this user may do that.
func keepOwner(file string, other fs.FileInfo) {
	if stat, ok := other.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(file, int(stat.Uid), int(stat.Gid))
	}
}
