package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/tests/assert"
)

func TestRead_DSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"https://abc@o1.ingest.example.com/42":        "https://o1.ingest.example.com/api/42/envelope/",
		"https://abc:old@sentry.example.com/42":       "https://sentry.example.com/api/42/envelope/",
		"http://abc@127.0.0.1:9000/below/it/42/":      "http://127.0.0.1:9000/below/it/api/42/envelope/",
		" https://abc@sentry.example.com/42\n":        "https://sentry.example.com/api/42/envelope/",
		"https://sentry.example.com/42":               "",
		"https://abc@sentry.example.com":              "",
		"ftp://abc@sentry.example.com/42":             "",
		"abc":                                         "",
		"https://abc@sentry.example.com:port/project": "",
	} {
		c, err := ReadSentry(func(name string) string { return map[string]string{"SENTRY_DSN": dsn}[name] }, nil)
		switch {
		case want == "" && (err == nil || strings.Contains(err.Error(), "abc")):
			t.Errorf("%q: got %v, want an error without the key", dsn, err)
		case want != "" && (err != nil || c.endpoint.String() != want || c.key != "abc"):
			t.Errorf("%q: got %+v, %v, want %s", dsn, c, err, want)
		}
	}
	c, err := ReadSentry(func(string) string { return "" }, nil)
	assert.True(t, c == nil && err == nil, "got %v, %v without a DSN, want nothing", c, err)
}

// collected starts a Sentry and a reporter for it, and returns both ends: what follows the log, and what came.
func collected(t *testing.T, environ []string,
	answer http.HandlerFunc,
) (r *Reporter, log *slog.Logger, written *bytes.Buffer, events func() []map[string]any) {
	t.Helper()
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		bodies = append(bodies, body)
		auth := q.Header.Get("X-Sentry-Auth")
		assert.True(t, q.URL.Path == "/api/7/envelope/" && strings.Contains(auth, "sentry_key=abc"),
			`got %s with %q, want "/api/7/envelope/" and a text with "sentry_key=abc"`, q.URL.Path, auth)
		answer(w, q)
	}))
	t.Cleanup(server.Close)
	c := assert.Must(ReadSentry(func(name string) string {
		return map[string]string{
			"SENTRY_DSN":         strings.Replace(server.URL, "//", "//abc@", 1) + "/7",
			"SENTRY_ENVIRONMENT": "test",
		}[name]
	}, environ))(t)
	written = new(bytes.Buffer)
	inner := slog.New(slog.NewTextHandler(written, nil))
	r = StartSentry(c, "1.2.3", inner)
	t.Cleanup(r.Stop)
	return r, r.Follow(inner), written, func() (sent []map[string]any) {
		r.Stop()
		for _, b := range bodies {
			lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
			assert.TrueNow(t, len(lines) == 3, "got %d lines, want 3: %s", len(lines), b)
			var item struct {
				Type   string
				Length int
			}
			var e map[string]any
			err := errors.Join(json.Unmarshal(lines[1], &item), json.Unmarshal(lines[2], &e))
			assert.TrueNow(t, err == nil && item.Type == "event" && item.Length == len(lines[2]),
				"got %v: %s, want an item of type event that names its length", err, b)
			sent = append(sent, e)
		}
		return sent
	}
}

func ok(http.ResponseWriter, *http.Request) {}

func TestReporter_SendsErrorsWithTheirWarnings(t *testing.T) {
	_, log, written, events := collected(t, nil, ok)
	log.Info("nothing")
	log.Error("what the model logs", "stream", "stderr")
	log.Warn("worker restarts after a pause", "pause", "1s")
	log.With("model", "ocr").Error("worker ended", "worker", 2, "cause", "worker killed by SIGSEGV")
	sent := events()
	assert.EqualNow(t, "events", len(sent), 1)
	text, _ := json.Marshal(sent[0])
	for _, part := range []string{
		`"type":"worker ended"`, `"value":"worker killed by SIGSEGV"`, `"model":"ocr"`, `"worker":"2"`,
		`"release":"pinion@1.2.3"`,
		`"environment":"test"`, `"level":"error"`, `"message":"worker restarts after a pause"`,
	} {
		assert.Contains(t, "text", string(text), part)
	}
	assert.False(t, strings.Contains(string(text), "nothing"),
		`got a record of level INFO: %s, want no "nothing" in it`, text)
	got := strings.Count(written.String(), "\n")
	assert.True(t, got == 4, "got %d lines in the log, want 4: %s", got, written)
}

func TestReporter_LeavesSecretsOut(t *testing.T) {
	_, log, _, events := collected(t, []string{"HF_TOKEN=hf_abcdefgh", "PATH=/usr/bin:/bin", "SHORT_KEY=1"}, ok)
	log.Error("setup failed", "error",
		"OSError: https://user:pass1word@host/x?sig=s1gned hf_abcdefgh Authorization: Bearer abcdefghij "+
			`api_key="k3y-value" password: hunter22 data:image/png;base64,AAAABBBB in /usr/bin:/bin 1`+
			strings.Repeat("x", 2*maxText))
	sent := events()
	text, _ := json.Marshal(sent)
	for _, secret := range []string{
		"pass1word", "s1gned", "hf_abcdefgh", "abcdefghij", "k3y-value", "hunter22",
		"AAAABBBB",
	} {
		assert.False(t, strings.Contains(string(text), secret), "got %q in %s, want it nowhere", secret, text)
	}
	assert.Contains(t, "text", string(text), "in /usr/bin:/bin 1")
	assert.True(t, len(text) <= 4*maxText, "got %d bytes, want a text that is cut", len(text))
}

func TestScrubber_CutsBetweenCharacters(t *testing.T) {
	for _, count := range []int{maxText, 4 * maxText} {
		for shift := range utf8.UTFMax {
			text := newScrubber(nil).clean(strings.Repeat("a", shift) + strings.Repeat("€", count))
			if len(text) < maxText || strings.ContainsRune(text, utf8.RuneError) {
				t.Errorf("%d characters from %d on: got %q at the end, want whole ones", count, shift, text[len(text)-8:])
			}
		}
	}
}

func TestReporter_RepeatsNothingWithinMinute(t *testing.T) {
	_, log, _, events := collected(t, nil, ok)
	for range 100 {
		log.Error("worker ended", "cause", "the same")
	}
	log.Error("worker ended", "cause", "another")
	assert.Equal(t, "events", len(events()), 2)
}

func TestReporter_NeverWaits(t *testing.T) {
	release := make(chan struct{})
	_, log, _, events := collected(t, nil, func(http.ResponseWriter, *http.Request) { <-release })
	for i := range 10 * queueSize { // would never end
		log.Error("worker ended", "cause", fmt.Sprint(i))
	}
	close(release)
	got := len(events())
	assert.True(t, got <= queueSize+2, "got %d events, want at most %d", got, queueSize+2)
}

func TestReporter_HeedsSentrysLimit(t *testing.T) {
	_, log, _, events := collected(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	for i := range 5 {
		log.Error("worker ended", "cause", fmt.Sprint(i))
	}
	assert.Equal(t, "requests", len(events()), 1)
}

func TestReporter_NilIsOff(t *testing.T) {
	r := StartSentry(nil, "1", slog.Default())
	log := slog.Default()
	assert.True(t, r.Follow(log) == log, "got another logger, want the same")
	r.Report("what", "cause")
	r.Stop()
}
