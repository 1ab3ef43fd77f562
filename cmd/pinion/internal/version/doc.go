// Package version says which version this binary is.
package version
