package api

import (
	"encoding/json"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const fanningModel = `
import asyncio
import cog

class Runner(cog.BaseRunner):
    @cog.concurrent(max=8)
    async def run(self, n: int, stream: bool = False) -> list[int]:
        async def one(i: int) -> int:
            if not stream:
                return await cog.call_async("b", i=i)
            return [item async for item in cog.call_async("c", i=i)][0]

        got = await asyncio.gather(*map(one, range(n)), return_exceptions=True)
        print(*{str(each) for each in got if not isinstance(each, int)})
        right = sum(each == i for i, each in enumerate(got))
        return [right, sum(isinstance(each, (cog.CallError, OSError)) for each in got)]
`

// TestCallsMany_WaitWhereDescriptorsAreFew: a prediction makes more calls at once than the server may open files.
func TestCallsMany_WaitWhereDescriptorsAreFew(t *testing.T) {
	t.Parallel()
	s, _ := callingModels(t, map[string]string{
		"a": fanningModel,
		"b": "import cog\n\n@cog.concurrent(max=8)\nasync def run(i: int) -> int:\n    return i\n",
		"c": "import asyncio, cog\nfrom collections.abc import AsyncIterator\n\n@cog.concurrent(max=8)\n" +
			"async def run(i: int) -> AsyncIterator[int]:\n    yield i\n    await asyncio.sleep(0.05)\n",
	}, map[string]string{
		"a": "", "b": ", predictor: run.py:run, queue: 5000", "c": ", predictor: run.py:run, queue: 5000",
	}, harness.Options{Wrap: []string{"sh", "-c", `ulimit -n 600 && exec "$@"`, "sh"}})
	pid := s.Health().Workers[0].PID
	assert.Equal(t, "calls that are awaited", outputText(t, harness.PredictBy(s, "a", harness.Input{"n": 1500})), "[1500,0]")
	var streams [2]int
	assert.NoError(t, json.Unmarshal(harness.PredictBy(s, "a", harness.Input{"n": 1500, "stream": true}).Output, &streams))
	assert.Equal(t, "streams that are right or refused", streams[0]+streams[1], 1500)
	assert.Equal(t, "calls after them", outputText(t, harness.PredictBy(s, "a", harness.Input{"n": 10})), "[10,0]")
	assert.Equal(t, "pid of the worker", s.Health().Workers[0].PID, pid)
}
