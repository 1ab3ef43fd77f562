package workers

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestRanks_AreSeen: in health, metrics, traces, the dashboard and 'pinion ps'.
func TestRanks_AreSeen(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	tmp := harness.ShortTempDir(t)
	s := ranksOf(t, 3, ranksModel, harness.Options{
		Tmp:  tmp,
		Args: []string{"--gpus", "4,5,6", "--reload"}, Env: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "PINION_CUDA=off",
		},
	})
	s.Succeed(harness.Input{})
	ranks := s.Health().Workers[0].Ranks
	assert.EqualNow(t, "ranks", len(ranks), 3)
	families := harness.Scrape(t, s)
	for i, r := range ranks {
		assert.Equal(t, "its GPU", r.Device, fmt.Sprint(4+i))
		got := families.Value("pinion_rank_memory_bytes", "worker", "0", "rank", fmt.Sprint(i))
		assert.True(t, got > 1<<20, "memory of rank %d: got %v, want more than 1 MiB", i, got)
	}
	seen := map[any]bool{}
	assert.Eventually(t, "each rank has a span", func() bool {
		for _, span := range c.Spans() {
			if span.Name == "pinion.rank" {
				seen[span.Attrs()["pinion.rank"]] = true
			}
		}
		return len(seen) == 3
	})
	events := bufio.NewScanner(s.Open(t, http.MethodGet, "/dashboard/events", nil).Body)
	events.Buffer(nil, 1<<20)
	for events.Scan() && !strings.Contains(events.Text(), fmt.Sprintf(`{"pid":%d,`, ranks[2].PID)) {
	}
	assert.Contains(t, "the dashboard's figures", events.Text(), `"device":"6"`)
	text := harness.CLI{Dir: t.TempDir(), Env: []string{"TMPDIR=" + tmp}}.Good(t, "ps")
	assert.Contains(t, "ps", text, fmt.Sprint(ranks[2].PID), "worker 0 rank 2", "MiB", "6")
}

// TestRanks_MemoryIsTheirSum: the bound of several models counts a group with the memory of all its ranks, and so makes
// room for another model.
func TestRanks_MemoryIsTheirSum(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "pinion.yaml", `
memory: 360MiB
models:
  group: {path: group, load: on-demand, ranks: 3}
  other: {path: other, load: on-demand, memory: 100MiB}
`)
	const model = "def run(x: int = 1) -> int: return x\n"
	for name, text := range map[string]string{"group": "held = b'x' * (80 << 20)\n" + model, "other": model} {
		assert.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), text)
	}
	s := harness.Start(t, harness.Options{
		Models: []string{"--config", filepath.Join(dir, "pinion.yaml")}, Args: []string{"--queue", "2"},
		Python: harness.AnyPython(t).Path,
	})
	for _, name := range []string{"group", "other"} {
		a := s.Do(http.MethodPost, "/models/"+name+"/predictions", map[string]any{"input": harness.Input{}})
		harness.WantStatus(t, name, a, "succeeded")
	}
	line := s.WaitLog("the model is unloaded to make room")
	assert.Contains(t, "the line", line.Raw, `"for":"other"`)
}
