package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/httpd/negotiate"
	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// largeAnswer is more than the kernel holds for a client.
const largeAnswer = 12 << 20

// fakeJobs is a queue whose jobs do what their bodies say.
type fakeJobs struct {
	down      error
	submitted chan *fakeJob
}

// fakeJob ends when the test says how, or is canceled.
type fakeJob struct {
	body     string
	end      chan int
	canceled chan struct{}
}

func (f *fakeJobs) Ready() error { return f.down }

func (f *fakeJobs) Submit(body []byte) (Job, bool) {
	if string(body) == "full" {
		return nil, false
	}
	j := &fakeJob{string(body), make(chan int, 1), make(chan struct{})}
	var status int
	if _, err := fmt.Sscanf(j.body, "end %d", &status); err == nil {
		j.end <- status
	}
	f.submitted <- j
	return j, true
}

func (j *fakeJob) Wait() (int, []byte) {
	status := <-j.end
	answer := []byte("answer to " + j.body)
	if strings.HasSuffix(j.body, "large") {
		answer = make([]byte, largeAnswer)
	}
	return status, answer
}

func (j *fakeJob) Cancel() {
	close(j.canceled)
	j.end <- 499
}

// serveJobs serves a queue and returns its address.
func serveJobs(t *testing.T, queue *fakeJobs, o Options) string {
	t.Helper()
	queue.submitted = make(chan *fakeJob, 64)
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := NewJobs(queue, o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		assert.ErrorIs(t, "the end of Serve", errors.Join(s.Shutdown(ctx), <-served), nil)
	})
	return ln.Addr().String()
}

func jobsRequest(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	request := assert.Must(http.NewRequest(method, url, strings.NewReader(body)))(t)
	response := assert.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	text := assert.Must(io.ReadAll(response.Body))(t)
	return response, string(text)
}

// TestJobs_AnswersAreChargedUntilTheirClientsHaveThemOrLeave: one for which the budget has no room is 503.
func TestJobs_AnswersAreChargedUntilTheirClientsHaveThemOrLeave(t *testing.T) {
	const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\nend 200 large"
	budget := memory.New(16 << 20)
	address := serveJobs(t, &fakeJobs{}, Options{Memory: budget})
	conn, err := net.Dial("tcp", address)
	assert.NoError(t, err)
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, err = io.WriteString(conn, request)
	assert.NoError(t, err)
	assert.Eventually(t, "the answer is charged", func() bool { return budget.Stats().Used >= largeAnswer })
	got, text := jobsRequest(t, "POST", "http://"+address, "end 200 large")
	assert.True(t, got.StatusCode == 503, "got %d %.100s for another one, want 503", got.StatusCode, text)
	got, text = jobsRequest(t, "POST", "http://"+address, "end 200")
	assert.True(t, got.StatusCode == 200, "got %d %.100s for a small one, want 200", got.StatusCode, text)
	conn.Close()
	assert.Eventually(t, "all is free", func() bool { return budget.Stats().Used == 0 })
}

func TestJobs_EndOnce(t *testing.T) {
	var routes []string
	queue := &fakeJobs{down: errors.New("no worker is there")}
	address := "http://" + serveJobs(t, queue,
		Options{MaxBody: 100, OnRequest: func(route, method string, code int, _ time.Duration) {
			routes = append(routes, fmt.Sprint(method, " ", route, " ", code))
		}})
	big := strings.Repeat("b", 101)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/", "end 200", 200, "answer to end 200"},
		{"PUT", "/any/where?x=y", "end 422", 422, "answer to end 422"},
		{"GET", "/livez", "end 200", 200, "answer to end 200"},
		{"POST", "/readyz", "end 200", 200, "answer to end 200"},
		{"POST", "/livez", "", 200, ""},
		{"GET", "/", "", 200, ""},
		{"GET", "/metrics", "", 200, ""}, // the options have none
		{"GET", "/livez", "", 200, "{}"},
		{"GET", "/readyz", "", 503, `{"detail":"no worker is there"}`},
		{"POST", "/", "end 408", 408, "answer to end 408"},
		{"POST", "/", "full", 429, "Too many requests wait for a worker"},
		{"POST", "/", big, 413, `{"detail":"The request body is larger than 100 bytes, the limit of --max-body"}`},
		{"POST", "/", "end 502", 502, "answer to end 502"},
	} {
		response, text := jobsRequest(t, c.method, address+c.path, c.body)
		assert.True(t, response.StatusCode == c.code && text == c.want,
			"%s %s %.20q: %d %q, want %d %q", c.method, c.path, c.body, response.StatusCode, text, c.code, c.want)
		closes := response.Close
		assert.True(t, closes == (c.code == 408 || c.code == 413),
			"%s %s %.20q: the connection closes: %v, want %t", c.method, c.path, c.body, closes, c.code == 408 || c.code == 413)
		kind := response.Header.Get("Content-Type")
		if json := strings.HasPrefix(text, "{"); json != (kind == negotiate.TypeJSON) || !json && kind != contentText {
			t.Errorf("%s %s %.20q: the type of %q is %q, want json %t and kind %q", c.method, c.path, c.body, text, kind,
				kind == negotiate.TypeJSON, contentText)
		}
	}
	if want := "POST / 200"; routes[0] != want || routes[8] != "GET /readyz 503" {
		t.Errorf(`the requests were %q, want routes[0] %q and routes[8] "GET /readyz 503"`, routes, want)
	}
}

// TestJob_Bodies: a queued body is not changed by later requests on its connection.
func TestJob_Bodies(t *testing.T) {
	queue := &fakeJobs{}
	address := "http://" + serveJobs(t, queue, Options{})
	var jobs []*fakeJob
	for i := range 20 {
		body := "end 200 " + strings.Repeat(string(rune('a'+i)), 1+i*i*i*20)
		_, text := jobsRequest(t, "POST", address, body)
		assert.True(t, text == "answer to "+body, "request %d was answered %.40q, want %q", i, text, "answer to "+body)
		jobs = append(jobs, <-queue.submitted)
	}
	for i, j := range jobs {
		assert.Equal(t, fmt.Sprintf("body %d has changed", i),
			j.body, "end 200 "+strings.Repeat(string(rune('a'+i)), 1+i*i*i*20))
	}
}

// TestJob_OfClientThatLeft is canceled.
func TestJob_OfClientThatLeft(t *testing.T) {
	queue := &fakeJobs{}
	conn := assert.Must(net.Dial("tcp", serveJobs(t, queue, Options{})))(t)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nwait")
	j := <-queue.submitted
	conn.Close()
	select {
	case <-j.canceled:
	case <-time.After(testTimeout):
		t.Fatal("the job goes on, want it canceled")
	}
}
