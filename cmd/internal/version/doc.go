// Package version says which version the binaries are.
package version
