package api

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// slowReader reads one item of a model, and the others once that has stopped to yield.
const slowReader = `
import time
import cog

def run(model: str, count: str, n: int, size: int, gate: str = "") -> str:
    items = cog.call(model, count=count, n=n, size=size)
    read = int(len(next(items)) == size)
    with open(count, "rb") as file:
        before = b""
        while (ahead := file.read()) != before:
            time.sleep(0.2)
            before = ahead
            file.seek(0)
    print("caller rests", flush=True)
    if gate:
        open(gate).read()
    for item in items:
        read += len(item) == size
    return f"{int.from_bytes(ahead, 'little')} {read}"
`

// slowlyRead yields items, and counts them in a file.
const slowlyRead = `
import mmap
from collections.abc import AsyncIterator, Iterator
import cog

ASYNC def run(count: str, n: int, size: int) -> KINDIterator[str]:
    with open(count, "r+b") as file:
        yielded = mmap.mmap(file.fileno(), 8)
    try:
        for i in range(n):
            yielded[:] = (i + 1).to_bytes(8, "little")
            yield "x" * size
    finally:
        print("the items end", flush=True)
`

// slowPair serves a slow reader and the models "sync", and "async" with two slots. keys are of these.
func slowPair(t *testing.T, keys string) (s *harness.Server, dir string) {
	t.Helper()
	run := ", predictor: run.py:run"
	return callingModels(t, map[string]string{
		"a":     slowReader,
		"async": strings.NewReplacer("ASYNC ", "async ", "KIND", "Async").Replace(slowlyRead),
		"sync":  strings.NewReplacer("ASYNC ", "", "KIND", "").Replace(slowlyRead),
	}, map[string]string{"a": run, "async": run + keys + ", concurrency: 2", "sync": run + keys}, harness.Options{})
}

// slowInput asks for items of a model, which a file counts.
func slowInput(t *testing.T, dir, model string, n, size int) harness.Input {
	t.Helper()
	count := filepath.Join(dir, model+".count")
	harness.WriteFile(t, count, "\x00\x00\x00\x00\x00\x00\x00\x00")
	return harness.Input{"model": model, "count": count, "n": n, "size": size}
}

// TestCallsSlow_ReaderSlowsTheModelDown, which yields no further than a bound, and then goes on. All items arrive, and
// the server's memory does not grow with them.
func TestCallsSlow_ReaderSlowsTheModelDown(t *testing.T) {
	t.Parallel()
	s, dir := slowPair(t, "")
	for _, model := range []string{"sync", "async"} {
		for size, most := range map[int]int{4 << 10: 100_000, 1 << 20: 200, 17 << 20: 28} {
			before := harness.PeakResident(t, s.PID)
			var ahead, read int
			text := harness.PredictBy(s, "a", slowInput(t, dir, model, most, size)).Text(t)
			_, err := fmt.Sscan(text, &ahead, &read)
			assert.NoError(t, err, model, text)
			grown := harness.PeakResident(t, s.PID) - before
			assert.True(t, ahead <= most/4 && read == most,
				"%s, items of %d bytes: got %d of %d, and %d of them early, want all, and a quarter at most", model, size, read,
				most, ahead)
			total := size * most
			assert.True(t, grown <= total/2 || harness.Sanitized(t),
				"%s, items of %d bytes: the server grew by %d bytes, want less than half of %d", model, size, grown, total)
		}
	}
}

// TestCallsSlow_CancelEndsAPause: of the caller, and by the time that the paused model has.
func TestCallsSlow_CancelEndsAPause(t *testing.T) {
	t.Parallel()
	s, dir := slowPair(t, "")
	harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	for n, model := range []string{"sync", "async"} {
		in := slowInput(t, dir, model, 100_000, 4<<10)
		in["gate"] = "gate"
		answer := make(chan harness.Answer, 1)
		go func() { answer <- s.Do(http.MethodPut, "/models/a/predictions/x", map[string]any{"input": in}) }()
		assert.Eventually(t, "the reader rests", func() bool { return s.Log.Count("caller rests") == n+1 })
		s.Do(http.MethodPost, "/models/a/predictions/x/cancel", nil)
		harness.WantStatus(t, "the reader ended with", harness.Receive(t, answer), "canceled")
		assert.Eventually(t, "the items end", func() bool { return s.Log.Count("the items end") == n+1 })
	}
}

func TestCallsSlow_TimeoutEndsAPause(t *testing.T) {
	t.Parallel()
	s, dir := slowPair(t, ", predict-timeout: 2s")
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	for n, model := range []string{"sync", "async"} {
		in := slowInput(t, dir, model, 100_000, 4<<10)
		in["gate"] = "gate"
		answer := make(chan harness.Answer, 1)
		go func() { answer <- harness.PredictBy(s, "a", in) }()
		assert.Eventually(t, "the items end", func() bool { return s.Log.Count("the items end") == n+1 })
		assert.Eventually(t, "the reader rests", func() bool { return s.Log.Count("caller rests") == n+1 })
		open()
		failedWith(t, harness.Receive(t, answer), "Prediction timed out: it ran for longer than 2s")
	}
}
