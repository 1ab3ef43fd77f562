package access

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/tests/assert"
)

// TestAccess_Sample: of many requests as many lines are written as are allowed, evenly spread, and all requests are
// counted.
func TestAccess_Sample(t *testing.T) {
	a := NewLog(slog.New(slog.DiscardHandler), 10, false, false)
	newcomer := NewLog(slog.New(slog.DiscardHandler), 10, false, false)
	const perSecond, seconds = 1000, 5
	admitted := make([]int, seconds)
	last := time.Duration(0)
	for i := range perSecond * seconds {
		now := time.Hour + time.Duration(i)*time.Second/perSecond
		if a.admits(now) {
			admitted[i/perSecond]++
			assert.TrueNow(t, i <= perSecond || now-last == 100*time.Millisecond,
				"a line %s after the last, want %v", now-last, 100*time.Millisecond)
			last = now
		}
	}
	total := 0
	for second, n := range admitted {
		if second > 0 && n != 10 || second == 0 && n > 20 {
			t.Errorf("%d lines in second %d, want 10 and at most 20", n, second)
		}
		total += n
	}
	if left := a.left.Load(); int(left)+total != perSecond*seconds {
		t.Errorf("%d lines and %d left out, of %d, want %d", total, left, perSecond*seconds, perSecond*seconds)
	}
	first := 0
	for range 20 { // at once, right at the start
		if newcomer.admits(0) {
			first++
		}
	}
	assert.Equal(t, "lines", first, 10)
	assert.True(t, NewLog(nil, 0, false, false) == nil, "an access log without the option")
}

// BenchmarkAccess measures a request whose line is left out, and one that has a line.
func BenchmarkAccess(b *testing.B) {
	for name, lines := range map[string]int{"left_out": 1, "written": 1e9} {
		b.Run(name, func(b *testing.B) {
			a := NewLog(slog.New(slog.NewJSONHandler(io.Discard, nil)), lines, false, false)
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, nil, nil)
			ctx.Request.SetRequestURI("/predictions")
			b.ReportAllocs()
			for b.Loop() {
				a.Note(&ctx, time.Millisecond)
			}
		})
	}
}
