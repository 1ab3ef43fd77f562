package harness

import (
	"testing"

	"pinion/tests/assert"
)

// HoarderModel is a model that gives its server much to hold.
const HoarderModel = `
from typing import Iterator
from cog import BaseRunner, current_scope, streaming

class Runner(BaseRunner):
    @streaming
    def run(
        self, n: int = 1, size: int = 1, error: int = 0, log: int = 0, metric: int = 0, text: str = "",
        gate: bool = False,
    ) -> Iterator[str]:
        if gate:
            with open("gate") as file:
                file.read()
        if log:
            print("l" * log)
        if metric:
            current_scope().record_metric("m", "m" * metric)
        for _ in range(n):
            yield "x" * size
        if error:
            raise ValueError("e" * error)

def returned(size: int = 1, text: str = "") -> str:
    return "x" * size
`

// StartConfined starts a server in a control group with limit MiB of memory, and returns the resident memory of its
// front.
func StartConfined(t *testing.T, model string, limit int64, args ...string) (s *Server, resident int) {
	t.Helper()
	enter := NeedMemoryGroup(t, limit<<20)
	s = Ready(t, Options{Dir: NewFolder(t, "run.py", HoarderModel), Model: model, Wrap: enter, Args: args})
	s.Succeed(Input{})
	return s, Resident(t, s.PID)
}

// WaitResident waits until the front has about as much memory as it had.
func WaitResident(t *testing.T, s *Server, resident int) {
	t.Helper()
	assert.Eventually(t, "the front is back where it began",
		func() bool { return Resident(t, s.PID) < resident+10<<20 })
}

// MemoryBudget returns what health says of the memory budget.
func MemoryBudget(t *testing.T, s *Server) (used, limit, evictions int64) {
	t.Helper()
	m := s.Health().Memory
	return m.UsedBytes, m.LimitBytes, m.Evictions
}
