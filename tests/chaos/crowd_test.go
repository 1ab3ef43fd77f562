package chaos

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// crowd is clients of a job queue. Each sends jobs with odd ids to one server, and follows each at another one to its
// end, which must be its own.
type crowd struct {
	clients
	servers []*harness.Server
	refused string // part of the error with which a job may end that asks for too much; "" means none may

	succeeded []string // tokens; mu guards it
	lost      atomic.Int64
}

// oddIDs are what clients may name a prediction.
var oddIDs = []string{
	"p%s", " p%s", "p%s ", "p %s", "\u00a0p%s", "p%s\u2003", "é%s", "p%s%%20", "%%2F%s", "..%s", ".%s.", "*%s", ">%s",
	"UTF-8''%s", `"%s"`, "p%s=", "€%s·€",
}

// beginCrowd starts clients that run jobs until the end.
func beginCrowd(t *testing.T, refused string, servers ...*harness.Server) *crowd {
	c := &crowd{servers: servers, refused: refused}
	c.begin(t, c.job)
	return c
}

// job runs one job.
func (c *crowd) job(client, n int) {
	token := fmt.Sprintf("c%dn%d", client, n)
	id := fmt.Sprintf(oddIDs[n%len(oddIDs)], token)
	body := map[string]any{"input": map[string]any{"token": token, "n": n % 10}}
	at, elsewhere := c.servers[n%len(c.servers)], c.servers[(n+1+client)%len(c.servers)]
	path := "/predictions/" + url.PathEscape(id)
	before, during := c.scene()
	scenes := c.excused.Load()
	if !c.accepted(at, path, body, token) {
		return
	}
	var a harness.Answer
	if n%3 == 0 {
		a = elsewhere.Do(http.MethodPut, path, body, "Accept", "text/event-stream")
		if a.Err == nil && a.Code == http.StatusOK {
			events := string(a.Body)
			a.Prediction, a.Err = completed(a.Body)
			for i := range 3 {
				event := fmt.Sprintf(`"chunk":"%s %d"`, token, i)
				if n := strings.Count(events, event); a.Status == "succeeded" && n != 1 {
					c.t.Errorf("%s: %q has output %d in %d events of its stream, want one: %.1000s", during, id, i, n, events)
				}
			}
		}
	}
	if n%3 != 0 || a.Err != nil || a.Code != http.StatusOK {
		a = c.await(elsewhere, path)
	}
	want := fmt.Sprintf(`["%[1]s 0","%[1]s 1","%[1]s 2"]`, token)
	switch {
	case c.t.Failed():
	case a.Status == "succeeded" && a.ID == id && string(a.Output) == want:
		c.mu.Lock()
		c.succeeded = append(c.succeeded, token)
		c.mu.Unlock()
	case a.Status == "failed" && c.refused != "" && n%10 > 5 && strings.Contains(a.Error, c.refused):
	case (before || c.excused.Load() != scenes) && a.Status == "failed" && strings.Contains(a.Error, "lost by the queue"):
		c.lost.Add(1)
	default:
		c.t.Errorf("%s: %q ended with %s %q %s %v, want its own answer: %s", during, id, a.Status, a.ID, a.Output, a.Err, a)
	}
	c.done.Add(1)
}

// accepted sends a job, and repeats a request that a server could not answer; false means that it was refused.
func (c *crowd) accepted(at *harness.Server, path string, body any, token string) bool {
	for !c.t.Failed() {
		a := at.Do(http.MethodPut, path, body, "Prefer", "respond-async")
		lossy, during := c.scene()
		switch {
		case a.Code == http.StatusAccepted:
			return true
		case a.Code == http.StatusUnprocessableEntity && c.refused != "" && strings.Contains(string(a.Body), c.refused):
			return false
		case lossy && a.Code == http.StatusServiceUnavailable:
			time.Sleep(honestPause)
		default:
			c.t.Errorf("%s: the job of %s got %s, want 202", during, token, a)
		}
	}
	return false
}

// await asks a server for a job until it has ended.
func (c *crowd) await(at *harness.Server, path string) (a harness.Answer) {
	if !assert.Within(2*timeout, honestPause, func() bool { // one that is lost counts as such after a minute
		a = at.Do(http.MethodGet, path, nil)
		return isFinal(a.Status) || c.t.Failed()
	}) {
		a.Err = errTimeout
	}
	return a
}

// end waits for the last jobs, and checks how often the models ran each.
func (c *crowd) end() {
	c.t.Helper()
	c.quit()
	runs := map[string]int{}
	for _, s := range c.servers { // a gateway's folder has no such file
		for _, token := range harness.ModelLines(c.t, s, "ran.txt") {
			runs[token]++
		}
	}
	for _, token := range c.succeeded {
		assert.Equal(c.t, "the job of "+token+": its runs", runs[token], 1)
	}
	c.t.Logf("%d jobs succeeded, %d ended, %d were lost", len(c.succeeded), c.done.Load(), c.lost.Load())
}
