//go:build tools

// Package tinygo only keeps the compiler in go.mod; nothing builds it.
package tinygo

import _ "github.com/tinygo-org/tinygo"
