package dashboard

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/tests/assert"
)

// TestFleet_FetchesNothingFromElsewhere, and makes no HTML of what it shows.
func TestFleet_FetchesNothingFromElsewhere(t *testing.T) {
	var ctx fasthttp.RequestCtx
	NewFleet(nil).Page()(&ctx)
	body, policy := ctx.Response.Body(), string(ctx.Response.Header.Peek("Content-Security-Policy"))
	assert.True(t, strings.Contains(policy, "script-src 'sha256-") && !strings.Contains(policy, "unsafe"),
		`got the policy %q, want it with "script-src 'sha256-" and without "unsafe"`, policy)
	for _, from := range []string{`src="http`, `href="http`, "@import", "innerHTML", "eval(", "/*script*/", "/*style*/"} {
		assert.False(t, bytes.Contains(body, []byte(from)), "got %q in the page, %.300q, want no %q in it", from, body, []byte(from))
	}
}

func TestFleet_HasEachScriptOnce(t *testing.T) {
	entries := assert.Must(fleetScripts.ReadDir("fleet/scripts"))(t)
	var got []string
	for _, e := range entries {
		got = append(got, strings.TrimSuffix(e.Name(), ".js"))
	}
	want := fleetScriptNames()
	slices.Sort(want)
	assert.EqualSlices(t, "files", got, want)
}

// TestFleet_IsReadOnceASecond, however many pages are open.
func TestFleet_IsReadOnceASecond(t *testing.T) {
	reads := 0
	v := NewFleet(func() Fleet {
		reads++
		return Fleet{Models: []FleetModel{{Name: "<m>", Servers: []FleetServer{}}}}
	})
	for range 100 {
		var ctx fasthttp.RequestCtx
		v.Data()["/dashboard/fleet"](&ctx)
		assert.TrueNow(t, bytes.Contains(ctx.Response.Body(), []byte(`"waiting":0`)),
			"got %s, want it to contain %q", ctx.Response.Body(), `"waiting":0`)
	}
	assert.True(t, reads <= 50, "got %d reads, want few", reads)
}
