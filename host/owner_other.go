//go:build !unix

package main

import "io/fs"

// keepOwner does nothing where a file has no owner to keep.
func keepOwner(string, fs.FileInfo) {}
