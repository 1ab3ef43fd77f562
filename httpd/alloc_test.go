//go:build !race

package httpd

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestAlloc_RequestAllocates: a whole request, from the read header to the answer in its buffer, costs its
// body and, where it names one, its id.
func TestAlloc_RequestAllocates(t *testing.T) {
	for body, most := range map[string]float64{
		`{"input":{"s":"world"}}`:                                1,
		`{"id":"0123456789abcdef","input":{"s":"w"}}`:            2,
		`{"input":{"s":"w"},"context":{"a":"b"},"webhook":null}`: 1,
	} {
		s := New(always{newStill()}, Options{})
		ctx := loopback(t, s, body)
		from := strings.NewReader(body)
		got := testing.AllocsPerRun(1000, func() {
			from.Reset(body)
			ctx.Request.SetBodyStream(from, len(body)) // as it comes from a connection
			s.handle(ctx)
			if ctx.Response.StatusCode() != 200 {
				t.Fatalf("got %q, %d, want 200", string(ctx.Response.Body()), ctx.Response.StatusCode())
			}
			ctx.Response.Reset()
		})
		assert.True(t, got <= most, "%s: %v allocations, want at most %v", body, got, most)
	}
}
