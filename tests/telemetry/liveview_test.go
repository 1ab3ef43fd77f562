package telemetry

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestLiveView_State(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner"})
	harness.WantAnswer(t, "the page", s.Do(http.MethodGet, "/dashboard", nil), http.StatusOK, "<!doctype html>")
	for _, headers := range [][]string{{"Origin", "http://elsewhere.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		harness.WantCode(t, headers[0]+" "+headers[1], s.Do(http.MethodGet, "/dashboard/events", nil, headers...),
			http.StatusForbidden)
	}
	events := openEvents(t, s)
	for events.Scan() {
		if strings.HasPrefix(events.Text(), "data: ") && strings.Contains(events.Text(), `"status":"READY"`) {
			break
		}
	}
	s.Stop() // fails if the open view holds it up
	assert.True(t, !events.Scan() || events.Err() == nil, "the view's stream ended with %v", events.Err())
}

// TestLiveView_UnreadEventsAreCharged: events count in the memory budget until their client has taken them.
func TestLiveView_UnreadEventsAreCharged(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "raising.py:large"})
	for range 100 { // the view shows them
		harness.WantStatus(t, "it raises", s.Create(map[string]any{"input": harness.Input{"size": 10_000}}), "failed")
	}
	var readers []io.Closer
	for range 20 {
		conn := s.Dial()
		assert.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err := io.WriteString(conn, "GET /dashboard/events HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.NoError(t, err)
		readers = append(readers, conn)
	}
	assert.Eventually(t, "events that are not read are charged", func() bool { return s.Health().Memory.UsedBytes > 0 })
	for _, reader := range readers {
		reader.Close()
	}
	assert.Eventually(t, "they are freed", func() bool { return s.Health().Memory.UsedBytes == 0 })
}

// openEvents opens the stream of the live view until the test's end.
func openEvents(t *testing.T, s *harness.Server) *bufio.Scanner {
	t.Helper()
	response := s.Open(t, http.MethodGet, "/dashboard/events", nil)
	kind := response.Header.Get("Content-Type")
	assert.TrueNow(t, response.StatusCode == http.StatusOK && strings.HasPrefix(kind, "text/event-stream"),
		`the stream is %d, %s, want 200 and a text starting with "text/event-stream"`, response.StatusCode, kind)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

func TestLiveView_IsForOperators(t *testing.T) {
	t.Parallel()
	tokens := harness.Ready(t, harness.Options{
		Model: "api/do.py:Runner",
		Args:  []string{"--metrics-port", "0", "--auth-token-file", harness.TokenFile(t, "a-token-0123456789")},
	})
	port := harness.At(tokens.WaitLog("serving metrics and probes").MetricsAddress)
	harness.WantCode(t, "data at the port without tokens", port.Do(http.MethodGet, "/dashboard/events", nil),
		http.StatusNotFound)
	harness.WantCode(t, "data without a token", tokens.Do(http.MethodGet, "/dashboard/events", nil),
		http.StatusUnauthorized)
	off := harness.Ready(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--no-dashboard"}})
	harness.WantCode(t, "a view that is off", off.Do(http.MethodGet, "/dashboard", nil), http.StatusNotFound)
}

// TestLiveView_SaysWhatAllModelsDo: each model's view has the states of all, and the logs of its own setup. A server of
// one model has no list.
func TestLiveView_SaysWhatAllModelsDo(t *testing.T) {
	t.Parallel()
	dir, models := harness.ModelFolders(t,
		map[string]harness.Python{"a": harness.OldestPython(t), "broken": harness.OldestPython(t)})
	harness.WriteFile(t, filepath.Join(dir, "broken", "run.py"), `class Runner:
    def setup(self):
        print("looks for weights")
        raise RuntimeError("no weights")

    def run(self) -> str:
        return ""
`)
	s := harness.Start(t, harness.Options{Dir: dir, Models: models})
	for path, want := range map[string][]string{
		"/models/a/dashboard/events": {
			`{"name":"a","state":"ready","running":0,"queued":0,"slots":1}`, `{"name":"broken","state":"failed"`,
			`"setup":{"status":"succeeded"`,
		},
		"/models/broken/dashboard/events": {`{"name":"a","state":"ready"`, "looks for weights"},
	} {
		assert.Eventually(t, path+" has "+strings.Join(want, ", "), func() bool {
			// An HTTP/1.0 client gets the first events alone.
			text := string(s.Raw("GET "+path+" HTTP/1.0\r\nHost: localhost\r\n\r\n", 1)[0].Body)
			return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) })
		})
	}
	single := harness.Ready(t, harness.Options{Model: "api/do.py:Runner"})
	text := string(single.Raw("GET /dashboard/events HTTP/1.0\r\nHost: localhost\r\n\r\n", 1)[0].Body)
	assert.True(t, strings.Contains(text, `"status":"READY"`) && !strings.Contains(text, `"models":[`),
		"a server of one model: got %s, want it with %q and without %q", text, `"status":"READY"`, `"models":[`)
}

// TestLiveView_CountsWebhooksOfEachModel: one that its receiver refuses for good is lost, of that model alone.
func TestLiveView_CountsWebhooksOfEachModel(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[string]int{"/gone": http.StatusGone, "/later": http.StatusServiceUnavailable}[r.URL.Path])
	}))
	t.Cleanup(receiver.Close)
	dir, models := harness.ModelFolders(t,
		map[string]harness.Python{"a": harness.OldestPython(t), "b": harness.OldestPython(t)})
	s := harness.Ready(t, harness.Options{Dir: dir, Models: models, Args: []string{"--grace", "1s"}})
	harness.WaitModels(t, s)
	for model, path := range map[string]string{"a": "/gone", "b": "/later"} {
		harness.WantCode(t, model, s.Do(http.MethodPost, "/models/"+model+"/predictions", map[string]any{
			"input": map[string]any{}, "webhook": receiver.URL + path, "webhook_events_filter": []string{"completed"},
		}), http.StatusOK)
	}
	for _, want := range []string{
		`{"name":"a","state":"ready","running":0,"queued":0,"slots":1,"lost":1}`,
		`{"name":"b","state":"ready","running":0,"queued":0,"slots":1,"pending":1,"retrying":1}`,
	} {
		assert.Eventually(t, "the live view has "+want, func() bool { return strings.Contains(firstEvents(s), want) })
	}
}

// firstEvents are the events that say everything; an HTTP/1.0 client gets those alone.
func firstEvents(s *harness.Server) string {
	return string(s.Raw("GET /dashboard/events HTTP/1.0\r\nHost: localhost\r\n\r\n", 1)[0].Body)
}

// TestLiveView_ShowsServersLog from the moment on in which somebody watches.
func TestLiveView_ShowsServersLog(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", "def run(word: str) -> str:\n    print('says', word)\n    return word\n"),
	})
	s.Succeed(harness.Input{"word": "unwatched"})
	s.WaitLog("says unwatched")
	events := openEvents(t, s)
	events.Scan() // the view is open
	s.Succeed(harness.Input{"word": "watched"})
	for events.Scan() {
		assert.TrueNow(t, !strings.Contains(events.Text(), "says unwatched"),
			"got %.300s, want no record from before", events.Text())
		if strings.HasPrefix(events.Text(), "data: ") && strings.Contains(events.Text(), `says watched`) {
			assert.Contains(t, "another reader", firstEvents(s), "says watched")
			return
		}
	}
	t.Fatalf("the events ended without the record, want it: %v", events.Err())
}

// TestLiveView_SaysWhoRunsWhat: of each prediction in flight the worker that runs it or its place, the oldest first,
// and so in its details. What a worker holds ready beside the one that it runs waits.
func TestLiveView_SaysWhoRunsWhat(t *testing.T) {
	t.Parallel()
	dir, models := harness.ModelFolders(t, map[string]harness.Python{"a": harness.OldestPython(t), "b": harness.OldestPython(t)})
	harness.WriteFile(t, filepath.Join(dir, "a", "run.py"), `import os, time
class Runner:
    def run(self, gate: str = "") -> str:
        while gate and not os.path.exists(gate):
            time.sleep(0.002)
        return ""
`)
	s := harness.Ready(t, harness.Options{Dir: dir, Models: models, Args: []string{"--workers", "2", "--queue", "6"}})
	harness.WaitModels(t, s)
	for range 20 { // short ones, so that a worker holds some ready
		s.Succeed(harness.Input{})
	}
	gate := filepath.Join(dir, "gate")
	for i := range 6 {
		harness.WantCode(t, "PUT", s.Do(http.MethodPut, fmt.Sprintf("/predictions/p%d", i),
			map[string]any{"input": harness.Input{"gate": gate}}, "Prefer", "respond-async"), http.StatusAccepted)
	}
	type row struct {
		ID, Mode                  string
		Running, Position, Worker int64
	}
	place := func(r row) string {
		if r.Running > 0 {
			return fmt.Sprintf("%s %s at worker %d", r.ID, r.Mode, r.Worker)
		}
		return fmt.Sprintf("%s %s at place %d", r.ID, r.Mode, r.Position)
	}
	want := []string{"p2 async at place 1", "p3 async at place 2", "p4 async at place 3", "p5 async at place 4"}
	assert.Eventually(t, "two run and the others wait in order", func() bool {
		var shown struct {
			Predictions struct {
				InFlight []row `json:"in_flight"`
			}
		}
		text := firstEvents(s)
		_, text, _ = strings.Cut(text, "event: figures\ndata: ")
		assert.NoError(t, json.Unmarshal([]byte(text), &shown), "the figures are", text)
		places := make([]string, len(shown.Predictions.InFlight))
		assert.EqualNow(t, "flight", len(places), 6)
		for i, r := range shown.Predictions.InFlight {
			places[i] = place(r)
			var details row
			harness.Decode(t, s.Do(http.MethodGet, "/dashboard/prediction?kind=prediction&id="+r.ID, nil), &details)
			if place(details) != places[i] {
				return false // it has begun meanwhile
			}
		}
		running := slices.Sorted(slices.Values(places[:2]))
		return strings.HasPrefix(running[0], "p0") && strings.HasPrefix(running[1], "p1") &&
			strings.HasSuffix(places[0], "0") != strings.HasSuffix(places[1], "0") &&
			slices.Equal(places[2:], want) && strings.Contains(text, `"running":2,"queued":4,"slots":2`)
	})
	harness.WriteFile(t, gate, "")
}

// TestLiveView_SearchesAllThatEnded, beyond the last hundred.
func TestLiveView_SearchesAllThatEnded(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py",
			"def run(word: str = '') -> str:\n    assert word != 'bad', 'Nothing GOOD'\n    return word\n"),
	})
	search := func(text string) (found struct {
		Found []struct {
			ID, Status string
		}
		Searched, Most int
	},
	) {
		harness.Decode(t, s.Do(http.MethodGet, "/dashboard/search?q="+url.QueryEscape(text), nil), &found)
		return found
	}
	put := func(id, word string) {
		harness.WantCode(t, id,
			s.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": map[string]any{"word": word}}), http.StatusOK)
	}
	put("the-first", "")
	put("failed", "bad")
	for i := range 150 {
		put(fmt.Sprintf("later-%d", i), "")
	}
	if got := firstEvents(s); strings.Contains(got, `"the-first"`) {
		t.Fatalf("the first prediction is among the last hundred: got %.300q, want no %q in it", got, `"the-first"`)
	}
	for text, want := range map[string]string{"THE-FIRST": "the-first succeeded", "nothing good": "failed failed"} {
		got := search(text)
		assert.True(t, len(got.Found) == 1 && got.Found[0].ID+" "+got.Found[0].Status == want && got.Searched == 152,
			"%s: got %+v, want %s of 152", text, got, want)
	}
	if got := search("later"); len(got.Found) != 100 || got.Most != 100 || got.Found[0].ID != "later-149" {
		t.Errorf("later: got %d, want the last 100", len(got.Found))
	}
	got := search("no such text")
	assert.True(t, len(got.Found) == 0 && got.Searched == 152, "got %+v, want none of 152", got)
	for _, query := range []string{"", "?q=", "?q=%20", "?q=" + strings.Repeat("x", 201)} {
		harness.WantCode(t, "search "+query, s.Do(http.MethodGet, "/dashboard/search"+query, nil), http.StatusBadRequest)
	}
	harness.WantCode(t, "of another origin",
		s.Do(http.MethodGet, "/dashboard/search?q=x", nil, "Origin", "http://elsewhere.example"), http.StatusForbidden)
}
