package engine

import (
	"stagger/edge/provision"
	"stagger/vendors"
)

// NewNative returns an engine over the core of this build of the command, with
// at most size calls at work (GOMAXPROCS when size is 0).
func NewNative(size int) *Native {
	return NewNativeOf(size, func() Handler { return provision.New(vendors.Packs) })
}
