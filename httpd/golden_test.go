package httpd

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/httpd/negotiate"
	"pinion/httpd/transport"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenCase is one request and, in testdata/golden/<name>.txt, the whole answer except for its date.
type goldenCase struct {
	name    string
	request string // raw; or
	post    string // a body to POST as JSON to /predictions
	set     func(f *fake)
	opt     Options
	before  func(t *testing.T, s *site, f *fake) // before the request
	during  func(t *testing.T, s *site, f *fake) // between the request and its answer
}

func goldenCases() []goldenCase {
	ends := func(r predict.Result) func(*fake) { return func(f *fake) { f.result = r } }
	refused := func(err error) func(*fake) { return func(f *fake) { f.refusal = err } }
	get := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	post := func(path string) string { return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" }
	typed := func(header, body string) string {
		return "POST /predictions HTTP/1.1\r\nHost: x\r\n" + header + "\r\nContent-Length: 2\r\n\r\n" + body
	}
	return []goldenCase{
		{name: "succeeded", post: `{"id":"p1","input":{"s":"x"}}`},
		{name: "succeeded_no_body", request: post("/predictions")},
		{name: "succeeded_null", post: `{}`, set: ends(predict.Result{Status: predict.Succeeded})},
		{name: "succeeded_logs", post: `{"id":"p\u00e9\"1"}`, set: ends(predict.Result{
			Status: predict.Succeeded, Output: []byte(`{"a":[1,2.50,"ü"]}`),
			Logs: []byte("one\ntwo \"\xff\xfe\u2028\x1b[0m\n"), Metrics: []byte(`{"predict_time":1.5,"tokens":7}`),
		})},
		{name: "failed", post: `{}`, set: ends(predict.Result{
			Status: predict.Failed, Error: "ValueError: no \"x\"", Output: []byte(`["yielded before"]`),
			Metrics: []byte(`{"predict_time":0.1}`),
		})},
		{name: "failed_bare", post: `{}`, set: ends(predict.Result{Status: predict.Failed})},
		{
			name: "canceled", post: `{}`,
			set: ends(predict.Result{Status: predict.Canceled, Metrics: []byte(`{"predict_time":0}`)}),
		},
		{name: "created_at", post: `{"created_at":"2020-02-29T23:59:59.5+02:00"}`},

		{name: "invalid_json", post: `{"input":{"s":1,}}`},
		{name: "empty_json", post: ``},
		{name: "trailing", post: `{} x`},
		{name: "not_an_object", post: ` [1,2] `},
		{name: "wrong_types", post: `{"id":1,"input":[],"context":{"a":1,"b":"x","c":null},"webhook":{},` +
			`"webhook_events_filter":["start","end",1],"output_file_prefix":true}`},
		{name: "id_empty", post: `{"id":""}`},
		{name: "id_slash", post: `{"id":"a/b"}`},
		{name: "id_control", post: `{"id":"a\u0085"}`},
		{name: "id_long", post: `{"id":"` + strings.Repeat("ü", 257) + `"}`},
		{name: "wrong_content_type", request: typed("Content-Type: text/plain", "{}")},
		{name: "wrong_content_encoding", request: typed("Content-Encoding: br", "{}")},

		{name: "in_flight", post: `{}`, set: refused(predict.ErrInFlight)},
		{name: "busy", post: `{}`, set: refused(predict.ErrBusy)},
		{name: "queue_full", post: `{}`, set: refused(&predict.QueueFullError{RetryAfter: 1500 * time.Millisecond})},
		{name: "queue_timeout", post: `{}`, set: func(f *fake) { f.runErr = predict.ErrQueueTimeout }},
		{name: "not_ready", post: `{}`, set: refused(&predict.NotReadyError{
			Reason: "Setup has not finished yet. Wait until it has finished, or GET /health-check for status.",
		})},
		{
			name: "lost_while_waiting", post: `{}`,
			set: func(f *fake) { f.runErr = &predict.NotReadyError{Reason: "The server is shutting down."} },
		},
		{name: "invalid_input", post: `{}`, set: refused(&predict.ValidationError{Problems: []predict.Problem{
			{Loc: []string{"body", "input", "s"}, Msg: "Field required", Type: predict.TypeMissing},
			{Loc: []string{"body", "input", "x/0"}, Msg: `1 is not of type "string"`, Type: predict.TypeValue},
		}})},
		{name: "unexpected_error", post: `{}`, set: refused(io.ErrShortWrite)},
		{name: "panic", post: `{}`, set: func(f *fake) { f.panics = "boom" }},

		{name: "discovery", request: get("/")},
		{name: "discovery_training", request: get("/"), set: func(f *fake) { f.training = true }},
		{name: "health", request: get("/health-check"), set: func(f *fake) {
			f.health = health.Document{
				Status:  "READY",
				Setup:   &health.Setup{StartedAt: health.Time{Time: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}, Status: "succeeded", Logs: "a\xffb\n"},
				Version: map[string]string{"python": "3.13.0", "cog": "0.23.0", "pinion": "0.1.0"},
				Workers: []health.Worker{{PID: 7, State: "ready", CUDA: map[string]any{"devices": 0}}},
			}
		}},
		{name: "openapi", request: get("/openapi.json"), set: func(f *fake) { f.schema = []byte(`{"openapi":"3.0.2"}`) }},
		{name: "openapi_early", request: get("/openapi.json")},
		{name: "cancel_unknown", request: post("/predictions/nope/cancel")},
		{name: "cancel_bad_escape", request: post("/predictions/%zz/cancel")},
		{name: "shutdown", request: post("/shutdown")},
		{name: "not_found", request: get("/nothing?x=/predictions")},
		{name: "not_found_slash", request: post("/predictions/")},
		{name: "not_allowed", request: get("/predictions")},
		{name: "not_allowed_cancel", request: get("/predictions/x/cancel")},
		{name: "not_allowed_unknown_method", request: "BREW /health-check HTTP/1.1\r\nHost: x\r\n\r\n"},
		{name: "options", request: "OPTIONS /predictions HTTP/1.1\r\nHost: x\r\n\r\n"},

		{name: "malformed_line", request: "GET\r\n\r\n"},
		{name: "malformed_length", request: "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n"},
		{name: "malformed_chunk", request: "POST /predictions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
		{name: "large_headers", request: "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", transport.ReadBuffer) +
			"\r\n\r\n"},
		{name: "large_body", request: "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 104857601\r\n\r\n"},
		{
			name:    "large_body_expected",
			request: "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 104857601\r\nExpect: 100-continue\r\n\r\n",
		},
	}
}

func allGolden() []goldenCase {
	return slices.Concat(goldenCases(), goldenModes(), goldenStreams(), goldenTrainings(), goldenOthers(), goldenBodies())
}

var dateLine = regexp.MustCompile(`Date: [^\r]*\r\n`)

func TestGolden_AnswersAreGolden(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allGolden() {
		seen[c.name+".txt"] = true
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			if c.set != nil {
				c.set(f)
			}
			c.opt.CogVersion, c.opt.Shutdown = "0.23.0", f.shutdown
			s := serve(t, f, c.opt)
			if c.before != nil {
				c.before(t, s, f)
			}
			conn := s.dial(t)
			if c.request == "" {
				c.request = postRequest(c.post)
			}
			conn.send(c.request)
			if c.during != nil {
				c.during(t, s, f)
			}
			compareGolden(t, c.name+".txt", transcript(t, conn, strings.HasPrefix(c.request, "HEAD")))
		})
	}
	files := assert.Must(filepath.Glob("testdata/golden/*.txt"))(t)
	for _, f := range files {
		assert.True(t, seen[filepath.Base(f)], "%s belongs to no case, want seen[filepath.Base(f)] true", f)
	}
}

// transcript reads one answer: its head as it is except for the date, and its body without its framing.
func transcript(t *testing.T, c *client, head bool) string {
	t.Helper()
	var raw bytes.Buffer
	c.br = newTee(c, &raw)
	resp, body := c.answerTo(head)
	end := bytes.Index(raw.Bytes(), []byte("\r\n\r\n"))
	if end < 0 {
		t.Fatalf("no end of the head in %q: got %d, want at least 0", raw.Bytes(), end)
	}
	top := string(raw.Bytes()[:end+4])
	switch contentType := resp.Header.Get("Content-Type"); {
	case contentType == negotiate.TypeEventStream, resp.Header.Get("Content-Encoding") != "":
	case contentType == negotiate.TypeMsgPack || strings.HasPrefix(contentType, "image/"):
		body = strconv.Quote(body)
	case contentType != "application/json" && resp.StatusCode != http.StatusNoContent:
		t.Errorf("Content-Type %q: got %d, want 204", contentType, resp.StatusCode)
	case len(body) > 0 && !json.Valid([]byte(body)):
		t.Errorf("the body is not JSON: %q, want valid JSON", body)
	}
	return strings.ReplaceAll(dateLine.ReplaceAllString(top, ""), "\r\n", "\n") + body + "\n"
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		assert.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want := assert.Must(os.ReadFile(path))(t)
	assert.True(t, got == string(want), "%s:\ngot:\n%s\nwant:\n%s", path, got, want)
}
