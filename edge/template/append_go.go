//go:build !tinygo

package template

func appendText(b []byte, s string) []byte { return append(b, s...) }
