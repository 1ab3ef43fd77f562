package main

import (
	"testing"

	"pinion/cmd/pinion/internal/listener"
)

// TestInContainer: any one trace of a container's is enough.
func TestInContainer(t *testing.T) {
	for _, c := range []struct {
		pid                int
		kubernetes, exists string
		want               bool
	}{
		{2, "", "", false},
		{1, "", "", true},
		{2, "10.0.0.1", "", true},
		{2, "", "/.dockerenv", true},
		{2, "", "/run/.containerenv", true},
	} {
		env := func(name string) string {
			if name == "KUBERNETES_SERVICE_HOST" {
				return c.kubernetes
			}
			return ""
		}
		if got := inContainer(c.pid, env, func(path string) bool { return path == c.exists }); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestReachable: the address of a socket that is bound to all is none that one may ask.
func TestReachable(t *testing.T) {
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
		if got, all := listener.Reachable(c.bound); got != c.want || all != c.all {
			t.Errorf("%s: %s, %v", c.bound, got, all)
		}
	}
}
