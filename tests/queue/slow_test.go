package queue

import (
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestQueue_OverSlowLink: a body takes longer on its way to NATS than NATS may be silent, and so do its way to the
// server that runs it and that of its result.
func TestQueue_OverSlowLink(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	address := strings.TrimPrefix(nats.URL, "nats://")
	link := harness.SlowLink{Delay: 25 * time.Millisecond, PerSecond: 1_000_000 / 8}
	far := "nats://" + link.To(t, address)
	a := harness.StartMember(t, far,
		harness.Options{Model: "mixed.py:Runner", Dir: harness.NewFolder(t, "mixed.py", mixedModel)})
	large := strings.Repeat("x", 1<<20)
	harness.Enqueue(t, a, "large", harness.Input{"token": large})
	harness.Enqueue(t, a, "small", harness.Input{"token": "small"})
	harness.WaitStatus(t, a, "small", "succeeded")
	harness.WaitStatus(t, a, "large", "succeeded")
	for token, n := range map[string]int{"small": 1, large: 1} {
		assert.Equal(t, token+": its runs", harness.TimesRun(t, a, token), n)
	}
}
