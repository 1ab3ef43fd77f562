package queue

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestPermissions_OfMember: what deploy/nats allows a member of one model is enough for its queue, as the other tests
// of queues show, because they have it too. It does not reach the queue of another model, or remove a part of its
// queue.
func TestPermissions_OfMember(t *testing.T) {
	t.Parallel()
	at := harness.StartNATS(t) // for members of "m"
	s := harness.StartMember(t, at.URL, harness.Options{})
	harness.Enqueue(t, s, "p1", harness.Input{})
	harness.WaitStatus(t, s, "p1", "succeeded")
	code, text := harness.Refused(t,
		harness.Options{
			Model: "fleet.py", Args: []string{"--nats", strings.Replace(at.URL, "//", "//m:guessed@", 1), "--model", "m"},
		})
	assert.True(t, code != 0 && strings.Contains(text, "Authorization Violation") && !strings.Contains(text, "guessed"),
		"a wrong password: exit code %d, %s, want Authorization Violation, without the password", code, text)
	harness.WantRefused(t, harness.Options{Model: "fleet.py", Args: []string{"--nats", at.URL, "--model", "other"}},
		harness.AnyCode, "NATS denies this user the job queue of the model other")
	nc := assert.Must(nats.Connect(at.URL, nats.CustomInboxPrefix("_INBOX.pinion.m")))(t)
	defer nc.Close()
	js := assert.Must(nc.JetStream(nats.MaxWait(2 * time.Second)))(t)
	assert.True(t, js.DeleteStream("PINION_JOBS_m") != nil, "a member removed its stream")
	assert.True(t, js.PurgeStream("PINION_JOBS_m") != nil, "a member emptied its stream")
	harness.WantStatus(t, "afterwards", s.Do(http.MethodGet, "/predictions/p1", nil), "succeeded")
}
