package queue

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestQueue_RunsAnyID: what a client may name a prediction, the queue runs, finds, cancels and posts by that name.
func TestQueue_RunsAnyID(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := harness.StartGateway(t, nats.URL)
	a := harness.StartMember(t, nats.URL, harness.Options{})
	hooks := harness.NewHookReceiver(t)
	ids := []string{
		"p1", " p1", "p1 ", " p1 ", " ", "\u00a0p1", "p1\u2003", "p 1", "é", "p1%20", "UTF-8''p1", ".", "*",
		">", `"`, strings.Repeat("€", 255) + " ",
	}
	for i, id := range ids {
		body := map[string]any{"input": harness.Input{"token": fmt.Sprint("token", i)}, "webhook": hooks.URL}
		got := g.Do(http.MethodPut, "/predictions/"+url.PathEscape(id), body, "Prefer", "respond-async", "Content-Type",
			`application/json; charset="utf-8" `)
		if i%2 == 0 {
			body["id"] = id
			got = a.Create(body, "Prefer", "respond-async", "X-Request-Id", "UTF-8''q")
		}
		assert.TrueNow(t, got.Code == http.StatusAccepted || got.Code == http.StatusConflict,
			"accept %q: %s, want Code 202 or 409", id, got)
	}
	for i, id := range ids {
		for _, s := range []*harness.Server{a, g.Server} {
			assert.Eventually(t, "it has succeeded", func() bool {
				got := s.Do(http.MethodGet, "/predictions/"+url.PathEscape(id), nil)
				return got.Status == "succeeded" && got.ID == id
			})
		}
		assert.Eventually(t, "its last webhook came", func() bool {
			posted := hooks.Of(id)
			return len(posted) > 0 && posted[len(posted)-1].Status == "succeeded"
		})
		assert.Equal(t, "runs of "+id, harness.TimesRun(t, a, fmt.Sprint("token", i)), 1)
	}
}
