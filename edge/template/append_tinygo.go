//go:build tinygo

package template

import "unsafe"

// appendText is append(b, s...). Most pieces of a file are shorter than a line,
// and for those the instruction that append becomes, memory.copy, is a call out
// of the compiled code that costs more than the copy itself: on the bench
// document a third of the time of a run. Words are loaded and stored one by one
// here; the last one overlaps the one before it.
func appendText(b []byte, s string) []byte {
	n := len(s)
	if cap(b)-len(b) < n || n > 64 {
		return append(b, s...)
	}
	to := unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), len(b))
	from := unsafe.Pointer(unsafe.StringData(s))
	switch {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			*(*uint64)(unsafe.Add(to, i)) = *(*uint64)(unsafe.Add(from, i))
		}
		*(*uint64)(unsafe.Add(to, n-8)) = *(*uint64)(unsafe.Add(from, n-8))
	case n >= 4:
		first, last := *(*uint32)(from), *(*uint32)(unsafe.Add(from, n-4))
		*(*uint32)(to) = first
		*(*uint32)(unsafe.Add(to, n-4)) = last
	default:
		for i := 0; i < n; i++ {
			*(*byte)(unsafe.Add(to, i)) = *(*byte)(unsafe.Add(from, i))
		}
	}
	return b[:len(b)+n]
}
