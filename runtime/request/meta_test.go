package request

import (
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestDeadline_ReadDeadline(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"0":                         now,
		"2.5":                       now.Add(2500 * time.Millisecond),
		" 30 ":                      now.Add(30 * time.Second),
		"2026-11-21T09:31:00Z":      now.Add(time.Minute),
		"2026-11-21T10:31:00+01:00": now.Add(time.Minute),
		"2020-01-01T00:00:00.5Z":    time.Date(2020, 1, 1, 0, 0, 0, 5e8, time.UTC),
	} {
		got, err := readDeadline(text, func() time.Time { return now })
		assert.True(t, err == nil && got.Equal(want), "%q: got %s, %v; want %s", text, got, err, want)
	}
	for _, text := range []string{"soon", "-1", "NaN", "Inf", "1e300", "2026-11-21", "5 s"} {
		got, err := readDeadline(text, func() time.Time { return now })
		assert.True(t, err != nil, "%q is taken for %s", text, got)
	}
}

// TestDeadline_IsWait: it ends by the monotonic clock, in every form.
func TestDeadline_IsWait(t *testing.T) {
	for _, text := range []string{"2.5", "2020-01-01T00:00:00Z", "2026-11-21T09:31:00Z", "9999-12-31T23:59:59Z"} {
		got, err := readDeadline(text, time.Now)
		if err != nil || !strings.Contains(got.String(), " m=") { // what only a text for debugging shows
			t.Errorf(`%q: got %s, %v, which is a mere time of day, want it to contain " m="`, text, got, err)
		}
	}
}
