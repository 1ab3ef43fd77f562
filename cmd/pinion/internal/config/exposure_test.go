package config

import (
	"fmt"
	"slices"
	"testing"

	"pinion/tests/assert"
)

// TestExposure_InContainer: any one sign of a container is enough.
func TestExposure_InContainer(t *testing.T) {
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
		assert.Equal(t, fmt.Sprintf("%+v", c),
			inContainer(c.pid, env, func(path string) bool { return path == c.exists }), c.want)
	}
}

// TestExposure_PublicPaths: the paths that --auth-public may name.
func TestExposure_PublicPaths(t *testing.T) {
	for _, c := range []struct {
		names, paths []string
		ok           bool
	}{
		{[]string{"docs", " metrics", "openapi"}, []string{"/docs", "/dashboard", "/metrics", "/openapi.json"}, true},
		{[]string{"none"}, nil, true},
		{nil, nil, true},
		{[]string{"predictions"}, nil, false},
		{[]string{""}, nil, false},
	} {
		s := Exposure{authPublic: c.names}
		if got, err := s.Public(); !slices.Equal(got, c.paths) || (err == nil) != c.ok {
			t.Errorf("%q: got %q, %v, want %q and err == nil %t", c.names, got, err, c.paths, c.ok)
		}
	}
}
