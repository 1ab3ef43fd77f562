package httpd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/httpd/access"
	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

// pages collects a server's log, which can be read meanwhile.
type pages struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// requests returns the lines about requests.
func (p *pages) requests(t *testing.T) (lines []map[string]any) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(p.text.String()) {
		var fields map[string]any
		assert.NoError(t, json.Unmarshal([]byte(line), &fields))
		if fields["msg"] == "request" {
			lines = append(lines, fields)
		}
	}
	return lines
}

// TestAccess_Lines: each request has a line with what it was and how it ended, and nothing that may be secret.
func TestAccess_Lines(t *testing.T) {
	log := &pages{}
	c := serve(t, newFake(), Options{
		Logger: slog.New(slog.NewJSONHandler(log, nil)), AccessLines: 1000,
		AccessProbes: true,
	}).dial(t)
	c.post(`{"id":"p1","input":{"s":"s3cr3t"}}`)
	c.want(200)
	c.send("GET /nowhere/" + strings.Repeat("x", 500) +
		"?token=s3cr3t HTTP/1.1\r\nHost: x\r\nAuthorization: s3cr3t\r\n\r\n")
	c.want(404)
	c.send("BREW /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	c.want(405)
	lines := log.requests(t)
	want := []map[string]any{
		{"method": "POST", "path": "/predictions", "status": 200.0, "prediction_id": "p1"},
		{
			"method": "GET", "path": "/nowhere/" + strings.Repeat("x", logtext.MaxShown-len("/nowhere/")) + "…", "status": 404.0,
			"prediction_id": nil,
		},
		{"method": "OTHER", "path": "/livez", "status": 405.0, "left_out": nil},
	}
	assert.EqualNow(t, fmt.Sprintf("lines: %v", lines), len(lines), len(want))
	for i, fields := range want {
		for name, value := range fields {
			assert.True(t, lines[i][name] == value, "line %d: %s is %v, want %v", i, name, lines[i][name], value)
		}
		if s, ok := lines[i]["seconds"].(float64); !ok || s < 0 {
			t.Errorf("line %d took %v: got ok %t, s %v, want ok true and s at least 0", i, lines[i]["seconds"], ok, s)
		}
	}
	assert.False(t, strings.Contains(log.text.String(), "s3cr3t"),
		`a secret is in the log: %s, want no "s3cr3t" in it`, log.text.String())
}

// TestAccess_LinesForPeople: a line for people is one phrase, and probes have none.
func TestAccess_LinesForPeople(t *testing.T) {
	log := &pages{}
	c := serve(t, newFake(), Options{
		Logger: slog.New(slog.NewTextHandler(log, nil)), AccessLines: 1000,
		AccessText: true,
	}).dial(t)
	for _, probe := range []string{"livez", "readyz", "health-check"} {
		c.send("GET /" + probe + " HTTP/1.1\r\nHost: x\r\n\r\n")
		c.want(200)
	}
	c.post(`{"id":"p1","input":{}}`)
	c.want(200)
	c.send("GET /%1b[31m HTTP/1.1\r\nHost: x\r\n\r\n")
	c.want(404)
	var got []string
	for line := range strings.Lines(log.text.String()) {
		_, message, _ := strings.Cut(line, "level=INFO ")
		got = append(got, regexp.MustCompile(` [0-9.]+(ns|µs|ms|s)\b`).ReplaceAllString(message, " TIME"))
	}
	want := []string{"msg=\"POST /predictions 200 TIME\" prediction_id=p1\n", `msg="GET \"/\\x1b[31m\" 404 TIME"` + "\n"}
	assert.EqualSlices(t, "lines", got, want)
}

// TestAccess_TimesOfRequestsAreRounded to about three digits.
func TestAccess_TimesOfRequestsAreRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1499: "1µs", 123456: "123µs", 1234567: "1.23ms", 12345678: "12.3ms", 123456789: "123ms",
		1234567890: "1.23s", 12345678901: "12.3s", 123456789012: "2m3.5s",
	} {
		assert.Equal(t, fmt.Sprintf("%d", d), access.Rounded(d).String(), want)
	}
}

// TestAccess_NoAccessLines where none are wanted.
func TestAccess_NoAccessLines(t *testing.T) {
	log := &pages{}
	c := serve(t, newFake(), Options{Logger: slog.New(slog.NewJSONHandler(log, nil))}).dial(t)
	c.post(`{}`)
	c.want(200)
	lines := log.requests(t)
	assert.True(t, len(lines) == 0, "got %v, want no lines", lines)
}
