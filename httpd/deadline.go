package httpd

import (
	"strconv"
	"strings"
	"time"

	"pinion/runtime/request"

	"github.com/valyala/fasthttp"
)

// headerDeadline is the header that says until when a prediction may begin.
const headerDeadline = "Pinion-Deadline"

// maxDeadline is the longest deadline in seconds.
const maxDeadline = 1e9

// readDeadline reads a request's deadline: seconds from now, or an RFC 3339 time. A time is converted to a duration at
// once, so that later changes of the clock do not reorder deadlines. Zero means none.
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
	var bad request.Problems
	bad.Add("must be a number of seconds, or a time like 2026-01-31T12:00:00Z", "header", headerDeadline)
	return time.Time{}, bad.Err()
}
