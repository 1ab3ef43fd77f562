package httpd

import (
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// headerDeadline says until when it makes sense to begin a prediction.
const headerDeadline = "Pinion-Deadline"

// maxDeadline is the longest time in seconds that is taken for one.
const maxDeadline = 1e9

// readDeadline is the deadline that a request has: so many seconds from now, or a time as RFC 3339 has it, which is that
// many seconds from now by the clock as it is. So all deadlines have one measure, and a clock that is set later moves
// none of them before another. Zero: it has none.
func readDeadline(h *fasthttp.RequestHeader, now func() time.Time) (time.Time, error) {
	raw := h.Peek(headerDeadline)
	if len(raw) == 0 {
		return time.Time{}, nil
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		arrived := now()
		return arrived.Add(min(at.Sub(arrived), maxDeadline*time.Second)), nil
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 && s <= maxDeadline {
		return now().Add(time.Duration(s * float64(time.Second))), nil
	}
	var bad problems
	bad.add("it is a number of seconds, or a time like 2026-01-31T12:00:00Z", "header", headerDeadline)
	return time.Time{}, bad.err()
}
