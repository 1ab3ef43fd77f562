package api

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestWebhooks_StormIsThrottledAsDocumented in docs/reference/webhooks.md: each delivery of an output has more than the
// one before, those that the receiver is too slow for are merged, logs come at most every interval, and completed has
// everything.
func TestWebhooks_StormIsThrottledAsDocumented(t *testing.T) {
	t.Parallel()
	const source = `
from typing import Iterator

def run(n: int = 3000) -> Iterator[int]:
    for i in range(n):
        print("line", i)
        yield i
`
	const items, interval = 3000, 500 * time.Millisecond
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", source)})
	hooks := harness.NewHookReceiver(t)
	for id, events := range map[string][]string{
		"outputs": {"start", "output", "completed"},
		"logs":    {"logs", "completed"},
	} {
		began := time.Now()
		body := map[string]any{"id": id, "input": harness.Input{}, "webhook": hooks.URL, "webhook_events_filter": events}
		harness.WantCode(t, id, s.Create(body, "Prefer", "respond-async"), http.StatusAccepted)
		assert.Eventually(t, "completed came", func() bool {
			got := hooks.Of(id)
			return len(got) > 0 && got[len(got)-1].Status == "succeeded"
		})
		got, most := hooks.Of(id), 2+int(time.Since(began)/interval)
		assert.True(t, id != "logs" || len(got) <= most+1,
			"got %d deliveries of logs and completed, want at most %d", len(got), most+1)
		before := -1
		for i, hook := range got {
			var list []int
			assert.TrueNow(t, len(hook.Output) == 0 || json.Unmarshal(hook.Output, &list) == nil,
				"delivery %d has the output %.100s", i, hook.Output)
			last := i == len(got)-1
			assert.True(t, (id != "outputs" || last || len(list) > before || i <= 0) && (!last || len(list) == items),
				"%s: delivery %d of %d has %d items after %d, want at most 0 and %d", id, i, len(got), len(list), before, items)
			before = len(list)
		}
	}
}
