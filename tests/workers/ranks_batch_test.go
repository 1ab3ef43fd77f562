package workers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// rankBatches runs batches in which each item is summed over all ranks: with other items or another order on one rank, the
// sums are wrong or the group hangs.
const rankBatches = `
    @cog.batch(max_size=8, isolate=True)
    def run(self, %s: list[int], kill: list[bool] = False) -> list[list[int]]:
        for k in kill:
            if k and RANK == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.003)
        if any(k < 0 for k in x):
            raise ValueError("below 0")
        return [[self.group.sum(n), len(x)] for n in x]
`

var rankBatchModels = map[string]string{
	"plain": fmt.Sprintf(rankBatches, "x"),
	"with stages": `
    def preprocess(self, x: int) -> int:
        time.sleep(0.001 * (RANK + 1))
        return x

    @cog.batch(max_size=8)
    def run(self, x: list[int]) -> list[list[int]]:
        return [[self.group.sum(n), len(x)] for n in x]

    def postprocess(self, result: list[int]) -> list[int]:
        time.sleep(0.001 * (3 - RANK))
        return result
`,
	"async": `
    @cog.batch(max_size=8)
    async def run(self, x: list[int]) -> list[list[int]]:
        await asyncio.sleep(0.003)
        return [[self.group.sum(n), len(x)] for n in x]
`,
}

func rankBatchServer(t *testing.T, name string, args ...string) *harness.Server {
	t.Helper()
	head, _, _ := strings.Cut(ranksModel, "    def run(")
	return ranksOf(t, 3, "import asyncio\n"+head+rankBatchModels[name], harness.Options{Args: append([]string{"--queue", "200"}, args...)})
}

// TestRanks_BatchesAreTheSameOnAllRanks: many batches, with items that are canceled at any time.
func TestRanks_BatchesAreTheSameOnAllRanks(t *testing.T) {
	t.Parallel()
	for name := range rankBatchModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rankBatchServer(t, name)
			before := rankPIDs(s)
			var answers []<-chan harness.Answer
			for x := range 100 {
				answers = append(answers, s.Begin(fmt.Sprint("p", x), harness.Input{"x": x}))
				if x%7 == 0 {
					go s.Do(http.MethodPost, fmt.Sprint("/predictions/p", x, "/cancel"), nil)
				}
			}
			batched := 0
			for x := range answers {
				a := harness.Receive(t, answers[x])
				if x%7 == 0 && a.Status == "canceled" {
					continue
				}
				harness.WantStatus(t, fmt.Sprint("p", x), a, "succeeded")
				var got []int
				a.Decode(t, &got)
				assert.EqualNow(t, fmt.Sprint("the sum of ", x), got[0], 3*x)
				batched = max(batched, got[1])
			}
			assert.True(t, batched > 1, "no batch had several items")
			assert.EqualSlices(t, "processes", rankPIDs(s), before)
		})
	}
}

// TestRanks_BatchThatKillsARank: its other items run once more, alone.
func TestRanks_BatchThatKillsARank(t *testing.T) {
	t.Parallel()
	s := rankBatchServer(t, "plain", "--batch-wait", "300ms")
	var answers []<-chan harness.Answer
	for x := range 5 {
		answers = append(answers, s.Begin(fmt.Sprint("p", x), harness.Input{"x": x, "kill": x == 2}))
	}
	for x := range answers {
		a := harness.Receive(t, answers[x])
		if x == 2 {
			harness.WantStatus(t, "the one that kills", a, "failed")
			assert.Contains(t, "error", a.Error, "rank 1 died: ")
			continue
		}
		harness.WantStatus(t, fmt.Sprint("p", x), a, "succeeded")
	}
	assert.Equal(t, "an item that all ranks refuse", s.Fail(harness.Input{"x": -1}).Error, "ValueError: below 0")
}

// TestRanks_BatchedMethods: the method's calls form the same batches on each rank.
func TestRanks_BatchedMethods(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(ranksModel, "    def run(")
	s := ranksOf(t, 3, "import asyncio\n"+head+`
    @cog.batch(max_size=4)
    def double(self, x: list[int]) -> list[list[int]]:
        return [[self.group.sum(n), len(x)] for n in x]

    async def run(self, x: int) -> list:
        return await asyncio.gather(*(self.double(x + i) for i in range(6)))
`, harness.Options{Args: []string{"--queue", "20"}})
	var answers []<-chan harness.Answer
	for x := range 20 {
		answers = append(answers, s.Begin(fmt.Sprint("p", x), harness.Input{"x": x}))
	}
	for x := range answers {
		var got [][]int
		harness.Receive(t, answers[x]).Decode(t, &got)
		for i := range got {
			assert.EqualSlices(t, "a call", got[i], []int{3 * (x + i), []int{4, 4, 4, 4, 2, 2}[i]})
		}
	}
}

// TestRanks_FilesAreRank0s: all ranks read the input's file, and rank 0 alone writes the output's.
func TestRanks_FilesAreRank0s(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 2, `
import os, cog
class Runner(cog.BaseRunner):
    def run(self, file: cog.Path) -> cog.Path:
        text = file.read_text()
        print(os.environ["RANK"], text)
        to = cog.Path("out-" + os.environ["RANK"] + ".txt")
        if os.environ["RANK"] == "0":
            to.write_text(text * 2)
        return to
`, harness.Options{})
	a := s.Succeed(harness.Input{"file": "data:text/plain,abc"})
	assert.Contains(t, "output", a.Text(t), "YWJjYWJj")
	s.WaitLog("1 abc")
}

// TestRanks_UnloadedWhenIdle: a model of several, which a request loads again.
func TestRanks_UnloadedWhenIdle(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t).Path
	group := harness.NewFolder(t, "run.py", ranksModel, "cog.yaml", "run: run.py:Runner\nranks: 3\n")
	plain := harness.NewFolder(t, "run.py", "def run(x: int) -> int: return x\n")
	s := harness.Start(t, harness.Options{
		Models: []string{"group=" + group, "plain=" + plain}, Python: python,
		Args: []string{"--load", "on-demand", "--idle-timeout", "200ms", "--queue", "4"},
	})
	for x := range 3 {
		a := s.Do(http.MethodPost, "/models/group/predictions", map[string]any{"input": map[string]any{"x": x}})
		wantSums(t, a, 3, x)
		assert.Eventually(t, "the group is gone", func() bool {
			a := s.Do(http.MethodGet, "/models/group/health-check", nil)
			return !strings.Contains(string(a.Body), `"ranks"`)
		})
		harness.WantStatus(t, "the other", s.Do(http.MethodPost, "/models/plain/predictions", map[string]any{"input": map[string]any{"x": x}}), "succeeded")
	}
}
