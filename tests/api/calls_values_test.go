package api

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// arrayCaller passes arrays with a NaN to a model, and looks at what comes back.
const arrayCaller = `
import asyncio, math
import numpy
import cog

async def run() -> str:
    sent = numpy.array([[1.5, numpy.nan], [numpy.inf, 4]], numpy.float64)
    got = cog.call("b", x=sent)
    assert isinstance(got["x"], numpy.ndarray) and got["x"].dtype == numpy.float32, got
    assert numpy.array_equal(got["x"], 2 * sent, equal_nan=True) and math.isnan(got["nan"]), got
    got["x"][0, 0] = 7  # it may be written to
    large = numpy.zeros((3, 2_000_000), numpy.float32)
    large[2, 7] = 3
    got = (await cog.call_async("b", x=large))["x"]
    assert got.shape == large.shape and got[2, 7] == 6 and got.sum() == 6, got
    try:
        cog.call("c", n=sent)
    except cog.CallError as error:
        return str(error)
    return "c took floats"
`

const arrayCalled = `
from typing import Any
import numpy
from numpy.typing import NDArray

def run(x: NDArray[numpy.float32]) -> Any:
    return {"x": 2 * x, "nan": float("nan")}
`

// TestCallsValues_ArraysOfCalls pass in both directions, NaN and all, also of more than a frame holds. They get the
// dtype that is declared.
func TestCallsValues_ArraysOfCalls(t *testing.T) {
	t.Parallel()
	if !harness.Has(harness.OldestPython(t), "numpy") || !harness.Has(harness.NewestPython(t), "numpy") {
		t.Skip("numpy is not installed")
	}
	run := ", predictor: run.py:run"
	s, _ := callingModels(t, map[string]string{
		"a": arrayCaller, "b": arrayCalled,
		"c": "import numpy\nfrom numpy.typing import NDArray\n\ndef run(n: NDArray[numpy.int32]) -> int:\n    return 1\n",
	}, map[string]string{"a": run, "b": run, "c": run}, harness.Options{})
	got := harness.PredictBy(s, "a", harness.Input{}).Text(t)
	assert.True(t, strings.Contains(got, `input "n"`) && strings.Contains(got, "float64"),
		`got %q, want it with %q and with "float64"`, got, `input "n"`)
}

const fileCaller = `
import io, os
import cog

def run() -> list[str]:
    with open("in.txt", "w") as file:
        file.write("of a path")
    kept = []
    for data in (cog.Path("in.txt"), b"of bytes", io.BytesIO(b"of a file object")):
        got = cog.call("b", data=data, times=2)
        assert isinstance(got["file"], cog.Path) and got["text"] == "pinion-file:0", got
        kept.append(got["file"])
    kept += list(cog.call("c"))
    return [os.path.dirname(kept[0]), *(path.read_text() for path in kept)]
`

const fileCalled = `
from typing import Any
import cog

def run(data: cog.Path, times: int) -> Any:
    with open("out.txt", "w") as file:
        file.write(data.read_text() * times)
    return {"file": cog.Path("out.txt"), "text": "pinion-file:0"}
`

const fileItems = `
from collections.abc import Iterator
import cog

def run() -> Iterator[cog.Path]:
    for i in range(2):
        with open("item.txt", "w") as file:
            file.write(f"item {i}")
        yield cog.Path("item.txt")
`

// TestCalls_Files: each stays readable while the prediction that called runs, and is removed then.
func TestCalls_Files(t *testing.T) {
	t.Parallel()
	run := ", predictor: run.py:run"
	s, _ := callingModels(t, map[string]string{"a": fileCaller, "b": fileCalled, "c": fileItems},
		map[string]string{"a": run, "b": run, "c": run}, harness.Options{})
	var got struct{ Output []string }
	harness.Decode(t, harness.PredictBy(s, "a", harness.Input{}), &got)
	want := []string{"of a pathof a path", "of bytesof bytes", "of a file objectof a file object", "item 0", "item 1"}
	assert.TrueNow(t, len(got.Output) != 0 && slices.Equal(got.Output[1:], want),
		"got %q, want len(Output) non-empty and Output %q", got.Output, want)
	folder := filepath.Dir(got.Output[0])
	assert.Eventually(t, "the files are removed", func() bool {
		left, err := filepath.Glob(folder)
		return err == nil && len(left) == 0
	})
}

const itemsCaller = `
import asyncio
from collections.abc import AsyncIterator
import cog

async def run(how: str = "", gate: str = "") -> str:
    if how == "sync":
        items = cog.call("b")
        return f"{type(items).__name__} {list(items)}"
    if how == "await":
        return str(await cog.call_async("b"))
    if how == "gather":
        got = await asyncio.gather(cog.call_async("b"), cog.call_async("c", text="x"), cog.call_async("c", text="y"))
        return str(got)
    if how == "wrong":
        async for _ in cog.call_async("c", text="x"):
            pass
    if how == "fail":
        got = []
        try:
            async for item in cog.call_async("b", fail=True):
                got.append(item)
        except cog.CallError as error:
            return f"{got} {error}"
    if how == "break":
        items = cog.call_async("b", gate=gate).__aiter__()
        first = await items.__anext__()
        await items.aclose()
        return first
    got = []
    async for item in cog.call_async("b", gate=gate):
        print("got", item, flush=True)
        got.append(item)
    return " ".join(got)
`

const itemsCalled = `
from collections.abc import Iterator
import cog

class Runner(cog.BaseRunner):
    def run(self, gate: str = "", fail: bool = False) -> Iterator[str]:
        try:
            yield "one"
            if fail:
                raise ValueError("no more")
            if gate:
                open(gate).read()
            yield "two"
        except cog.CancelationException:
            print("items are canceled", flush=True)
            raise
`

// TestCallsValues_ItemsOfCalls come as they are yielded, and the event loop of the caller serves other predictions
// meanwhile.
func TestCallsValues_ItemsOfCalls(t *testing.T) {
	t.Parallel()
	s, dir := callingModels(t, map[string]string{
		"a": itemsCaller, "b": itemsCalled,
		"c": "def run(text: str) -> str:\n    return text\n",
	},
		map[string]string{"a": ", predictor: run.py:run, concurrency: 4", "c": ", predictor: run.py:run"},
		harness.Options{Args: []string{"--queue", "8"}})
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	for how, want := range map[string]string{
		"sync": "generator ['one', 'two']", "await": "['one', 'two']", "gather": "[['one', 'two'], 'x', 'y']", "": "one two",
		"fail": "['one'] ValueError: no more",
	} {
		assert.Equal(t, fmt.Sprintf("%q", how), harness.PredictBy(s, "a", harness.Input{"how": how}).Text(t), want)
	}
	failedWith(t, harness.PredictBy(s, "a", harness.Input{"how": "wrong"}),
		`model "c" does not yield items: await the call instead`)

	answer := make(chan harness.Answer, 1)
	before := s.Log.Count("got one")
	go func() { answer <- harness.PredictBy(s, "a", harness.Input{"gate": "gate"}) }()
	assert.Eventually(t, "the first item is there", func() bool { return s.Log.Count("got one") == before+1 })
	harness.WantStatus(t, "meanwhile", harness.PredictBy(s, "a", harness.Input{"how": "wrong"}), "failed")
	open()
	assert.Equal(t, "the output", harness.Receive(t, answer).Text(t), "one two")
	assert.Equal(t, "the output", harness.PredictBy(s, "a", harness.Input{"how": "break", "gate": "gate"}).Text(t), "one")
	s.WaitLog("items are canceled")
}

const batchedCaller = `
import asyncio
import cog

@cog.batch(max_size=4)
def run(text: list[str]) -> list[str]:
    return [cog.call("b", text=f"{len(text)}{t}") for t in text]
`

const batchedCalled = `
import cog

@cog.batch(max_size=4, max_wait_ms=500)
def run(text: list[str]) -> list[str]:
    return [f"{t} of {len(text)}" for t in text]
`

const gatheringCaller = `
import asyncio
import cog

async def run() -> list[str]:
    return await asyncio.gather(*(cog.call_async("b", text=t) for t in "wxyz"))
`

// TestCallsValues_CallsOfBatches: a batched function calls, and a batched function is called by several calls at once.
func TestCallsValues_CallsOfBatches(t *testing.T) {
	t.Parallel()
	run := ", predictor: run.py:run"
	s, _ := callingModels(t, map[string]string{"a": batchedCaller, "b": batchedCalled, "c": gatheringCaller},
		map[string]string{"a": run, "b": run, "c": run}, harness.Options{Args: []string{"--queue", "64"}})
	assert.Equal(t, "the output", harness.PredictBy(s, "a", harness.Input{"text": "t"}).Text(t), "1t of 1")
	got := outputText(t, harness.PredictBy(s, "c", harness.Input{}))
	assert.True(t, strings.HasPrefix(got, `["w of `) && strings.Count(got, " of ") == 4,
		"got %s, want a text starting with %q and Count 4", got, `["w of `)
}
