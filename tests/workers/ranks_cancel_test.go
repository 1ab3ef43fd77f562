package workers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// stepping sums over all ranks before each step. A rank that stopped alone would leave the others there. Each rank is slower
// at other steps, so a cancel finds them at different ones.
const stepping = `
    def sums(self, steps):
        for i in range(steps):
            yield self.group.sum(i)
            time.sleep(0.0005 * ((i + RANK) % 3))
`

// steppingModels come to their steps in every way.
var steppingModels = map[string]string{
	"generator": stepping + `
    def run(self, steps: int) -> cog.ConcatenateIterator[str]:
        try:
            for total in self.sums(steps):
                yield f"{total} "
        finally:
            print("closed", RANK, flush=True)
`,
	"checkpoint": stepping + `
    def run(self, steps: int) -> str:
        try:
            for total in self.sums(steps):
                cog.checkpoint()
        except cog.CancelationException:
            print("closed", RANK, flush=True)
            raise
        return str(total)
`,
	"async generator": stepping + `
    async def run(self, steps: int) -> cog.AsyncConcatenateIterator[str]:
        try:
            for total in self.sums(steps):
                yield f"{total} "
                await asyncio.sleep(0)
        finally:
            print("closed", RANK, flush=True)
`,
	"async checkpoint": stepping + `
    async def run(self, steps: int) -> str:
        try:
            for total in self.sums(steps):
                cog.checkpoint()
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            print("closed", RANK, flush=True)
            raise
        return str(total)
`,
	"batch": stepping + `
    @cog.batch(max_size=4)
    def run(self, steps: list[int]) -> list[str]:
        try:
            for total in self.sums(max(steps)):
                cog.checkpoint()
        except cog.CancelationException:
            print("closed", RANK, flush=True)
            raise
        return [str(total) for _ in steps]
`,
	"training": stepping + `
    def run(self, steps: int) -> str:
        return "none"

    def train(self, steps: int) -> str:
        for total in self.sums(steps):
            cog.checkpoint()
        return str(total)
`,
}

// steppingModel is ranksModel with another function.
func steppingModel(name string) string {
	head, _, _ := strings.Cut(ranksModel, "    def run(")
	return "import asyncio\n" + head + steppingModels[name]
}

// TestRanks_CancelStopsAllAtOneStep: a hundred cancels of running predictions, and no process is replaced.
func TestRanks_CancelStopsAllAtOneStep(t *testing.T) {
	t.Parallel()
	for name := range steppingModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, count := "/predictions", 100
			yaml := "run: run.py:Runner\nranks: 3\n"
			if name == "training" {
				path, count = "/trainings", 10
				yaml += "train: run.py:Runner\n"
			}
			s := harness.Ready(t, harness.Options{
				Dir:  harness.NewFolder(t, "run.py", steppingModel(name), "cog.yaml", yaml),
				Args: []string{"--queue", "8"},
			})
			before := rankPIDs(s)
			for n := range count {
				cancelRanks(t, s, path, fmt.Sprint("p", n), harness.Input{"steps": 1_000_000})
			}
			a := s.Do(http.MethodPost, path, map[string]any{"input": map[string]any{"steps": 5}})
			harness.WantStatus(t, "the next", a, "succeeded")
			assert.EqualSlices(t, "processes", rankPIDs(s), before)
			if name == "generator" {
				s.WaitLog("closed 0")
				s.WaitLog("closed 2")
			}
		})
	}
}

// TestRanks_CancelOfStream: a client that leaves cancels all ranks, and one that reads slowly pauses them.
func TestRanks_CancelOfStream(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 3, steppingModel("generator"), harness.Options{Args: []string{"--queue", "2"}})
	before := rankPIDs(s)
	for range 10 {
		response := s.Open(t, http.MethodPost, "/predictions", harness.Input{"input": harness.Input{"steps": 1_000_000}}, "Accept",
			"text/event-stream")
		_, err := response.Body.Read(make([]byte, 256))
		assert.NoError(t, err)
		response.Body.Close()
	}
	s.Succeed(harness.Input{"steps": 3})
	assert.EqualSlices(t, "processes", rankPIDs(s), before)
}

// cancelRanks makes a prediction or training, and cancels it while it runs.
func cancelRanks(t *testing.T, s *harness.Server, path, id string, input harness.Input) {
	t.Helper()
	answer := make(chan harness.Answer, 1)
	go func() { answer <- s.Do(http.MethodPost, path, harness.Input{"id": id, "input": input}) }()
	assert.Eventually(t, "it runs", func() bool {
		return strings.Contains(string(s.Do(http.MethodGet, path+"/"+id, nil).Body), "processing")
	})
	s.Do(http.MethodPost, path+"/"+id+"/cancel", nil)
	harness.WantStatus(t, id, harness.Receive(t, answer), "canceled")
}

// TestRanks_StepIsMissed: a model that comes to no step for so long that a cancel would replace the group is named.
func TestRanks_StepIsMissed(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(ranksModel, "    def run(")
	s := ranksOf(t, 2, head+`
    def run(self, steps: int) -> str:
        time.sleep(0.3)
        for _ in range(steps):
            cog.checkpoint()
        return "done"
`, harness.Options{Args: []string{"--cancel-grace", "200ms"}})
	s.Succeed(harness.Input{"steps": 1})
	_, ok := s.Log.Find(missedStep)
	assert.False(t, ok, "the log misses a step, although the model came to one")
	s.Succeed(harness.Input{"steps": 0})
	s.WaitLog(missedStep)
}

const missedStep = "a prediction came to no step, so a cancel would have replaced all ranks: yield, or call cog.checkpoint in its loop"
