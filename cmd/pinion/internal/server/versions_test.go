package server

import (
	"strings"
	"testing"

	"pinion/cmd/pinion/internal/config"
	"pinion/tests/assert"
)

// TestVersions_TurnsSpreadShares: of 100 requests each version gets its share, and never two shares in a row.
func TestVersions_TurnsSpreadShares(t *testing.T) {
	a, b, c := &target{share: 70}, &target{share: 30}, &target{}
	order := turns([]*target{a, b, c})
	got := map[*target]int{}
	for i, version := range order {
		got[version]++
		assert.False(t, version == b && order[(i+1)%len(order)] == b,
			"turns %d and %d: got the version with 30 %% twice, want them spread", i, i+1)
	}
	assert.True(t, len(order) == 100 && got[a] == 70 && got[b] == 30,
		"got %d turns, %d and %d of them, want 100, 70 and 30", len(order), got[a], got[b])
}

// versionedSite returns a server of two versions of the model m, which are ready.
func versionedSite(t *testing.T) (*site, *versions) {
	t.Helper()
	s := serve(t, []config.Named{namedModel(t, "m@1", "good"), namedModel(t, "m@2", "good")}, nil)
	s.until("/models/m@1/readyz", 200)
	s.until("/models/m@2/readyz", 200)
	return s, s.models.versioned()["m"]
}

// answeredBy asks n times for the model, and counts the versions that answered.
func (s *site) answeredBy(path string, n int) map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	for range n {
		code, answer := s.ask("POST", path, prediction)
		_, version, ok := strings.Cut(answer, `"version":"`)
		assert.TrueNow(s.t, code == 200 && ok, "POST %s: got %d %s, want 200 with the version", path, code, answer)
		version, _, _ = strings.Cut(version, `"`)
		counts[version]++
	}
	return counts
}

// TestVersions_RequestsByShareAndName: a request for the model goes to a version by its share, and one for a version to
// that.
func TestVersions_RequestsByShareAndName(t *testing.T) {
	s, v := versionedSite(t)
	got := s.answeredBy("/models/m/predictions", 4)
	assert.True(t, got["1"] == 4, "before the shift: got %v, want all by version 1", got)
	got = s.answeredBy("/models/m@2/predictions", 2)
	assert.True(t, got["2"] == 2, "by its name: got %v, want all by version 2", got)
	assert.NoError(t, v.shift(map[string]int{"m@1": 25, "m@2": 75}))
	got = s.answeredBy("/models/m/predictions", 20)
	assert.True(t, got["1"] == 5 && got["2"] == 15, "after the shift: got %v, want 5 by version 1 and 15 by version 2", got)
	for _, shares := range []map[string]int{{"m@1": 25}, {"m@1": 50, "m": 50}, {"m@3": 100}} {
		err := v.shift(shares)
		assert.True(t, err != nil, "traffic %v: got no error, want one", shares)
	}
	s.want("GET", "/models/m/health-check", "", 200, `"m@2":"READY"`)
	s.want("GET", "/models/m/traffic", "", 200, `"m@2":75`)
}

// TestVersions_MirrorGetsCopies: the mirror runs each request too, and its clients get nothing of that.
func TestVersions_MirrorGetsCopies(t *testing.T) {
	s, v := versionedSite(t)
	v.regroup(s.models.all(), nil, []string{"m@2"})
	got := s.answeredBy("/models/m/predictions", 3)
	assert.True(t, got["1"] == 3, "got %v, want all by version 1", got)
	mirror := v.route.Load().mirror
	assert.Eventually(t, "the copies have ended", func() bool { return mirror.mirrored.stats().Same == 3 })
	got = s.answeredBy("/models/m@1/predictions", 1)
	assert.True(t, got["1"] == 1 && mirror.mirrored.stats().Same == 3,
		"a request that names its version: got %v and %d copies, want no copy of it", got, mirror.mirrored.stats().Same)
}
