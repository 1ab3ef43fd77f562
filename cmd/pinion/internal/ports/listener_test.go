package ports

import (
	"testing"

	"pinion/tests/assert"
)

// TestListener_Reachable: clients cannot use the address of a socket that is bound to all addresses.
func TestListener_Reachable(t *testing.T) {
	for _, c := range []struct {
		bound, want string
		all         bool
	}{
		{"http://0.0.0.0:5000", "http://127.0.0.1:5000", true},
		{"http://[::]:5000", "http://127.0.0.1:5000", true},
		{"http://127.0.0.1:5000", "http://127.0.0.1:5000", false},
		{"http://gpu:5000", "http://gpu:5000", false},
		{"unix:/s", "unix:/s", false},
	} {
		got, everywhere := Reachable(c.bound)
		assert.True(t, got == c.want && everywhere == c.all, "%s: %s, %v, want %q and %t", c.bound, got, everywhere, c.want, c.all)
	}
}
