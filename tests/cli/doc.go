// Package cli tests the commands, flags, settings and terminals of the binary.
// Package tests says how.
package cli
