package config

import (
	"fmt"
	"testing"

	"github.com/spf13/pflag"

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
		value string
		paths []string
		ok    bool
	}{
		{"docs, metrics,openapi", []string{"/docs", "/dashboard", "/metrics", "/openapi.json"}, true},
		{"none", nil, true},
		{"predictions", nil, false},
		{"", nil, false},
	} {
		var s Serve
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.BindFlags(f)
		err := f.Set("auth-public", c.value)
		assert.Equal(t, fmt.Sprintf("--auth-public %q is taken", c.value), err == nil, c.ok)
		if c.ok {
			assert.EqualSlices(t, "paths", s.Exposure.Public(), c.paths)
		}
	}
}
