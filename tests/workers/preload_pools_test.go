package workers

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const numba = `import numba
from cog import BaseRunner


@numba.njit(parallel=True)
def total(n):
    total = 0
    for i in numba.prange(n):
        total += i
    return total


total(1000)


class Runner(BaseRunner):
    def run(self) -> int:
        return total(1000)
`

// TestPreload_PoolsOfNumba: its own threads start again in a fork, and TBB ends its threads before. Those of GNU's
// OpenMP do neither.
func TestPreload_PoolsOfNumba(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	python := harness.Tool(t, "venvs/libraries-full/bin/python")
	dir := harness.NewFolder(t, "run.py", numba)
	for layer, reason := range map[string]string{
		"workqueue": "", "tbb": "", "omp": "leaves 2 threads running (2 of libgomp.so",
	} {
		s := harness.Ready(t, harness.Options{
			Dir: dir, Model: "run.py:Runner", Python: python, Args: []string{"--preload", "--predict-timeout", "1m"},
			Env: []string{
				"NUMBA_THREADING_LAYER=" + layer, "NUMBA_NUM_THREADS=3",
				"LD_LIBRARY_PATH=" + filepath.Join(filepath.Dir(filepath.Dir(python)), "lib"), // of libtbb
			},
		})
		wantPreload(t, s, layer, reason)
		harness.EqualJSON(t, layer+": the sum", s.Succeed(harness.Input{}).Output, "499500")
	}
}

// wantPreload fails unless the preload process forks workers, or is refused for a reason.
func wantPreload(t *testing.T, s *harness.Server, what, reason string) {
	t.Helper()
	got := preloadProcess(t, s)
	if reason == "" {
		assert.Equal(t, what+": the preload process", got.State, "ready")
		return
	}
	assert.Equal(t, what+": the preload process", got.State, "refused")
	assert.Contains(t, what+": the reason", got.Reason, reason)
}

// TestPreload_Torch forks after its import, and is refused where the import has computed on several threads.
func TestPreload_Torch(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for what, reason := range map[string]string{"": "", "total()\n": "2 of libgomp.so.1"} {
		o := debianTorch(t, "Runner")
		harness.WriteFile(t, filepath.Join(o.Dir, "run.py"), `import torch
from cog import BaseRunner


def total() -> float:
    torch.set_num_threads(3)
    return float((torch.ones(4000000) * 2).sum())


`+what+`
class Runner(BaseRunner):
    def run(self) -> float:
        return total()
`)
		o.Args = []string{"--preload", "--predict-timeout", "1m"}
		s := harness.Ready(t, o)
		wantPreload(t, s, "torch", reason)
		harness.EqualJSON(t, "the sum", s.Succeed(harness.Input{}).Output, "8000000.0")
	}
}

// tried are the libraries of the table of docs/how-to/preload.md: what computes on several threads with each.
var tried = map[string]string{
	"polars": `import polars as pl

def use():
    frame = pl.DataFrame({"a": range(100000)}).group_by((pl.col("a") % 2).alias("g")).agg(pl.col("a").sum())
    return frame.select(pl.col("a").sum()).item() == 4999950000
`,
	"tokenizers": `from tokenizers import Tokenizer, models, pre_tokenizers

tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "u": 2}, unk_token="u"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()

def use():
    return len(tokenizer.encode_batch(["a b a"] * 2000)) == 2000
`,
	"opencv-python-headless": `import cv2, numpy as np

cv2.setNumThreads(4)

def use():
    image = np.ones((3000, 3000, 3), np.uint8)
    return all(cv2.blur(cv2.resize(image, (500, 500)), (5, 5)).all() for _ in range(20))
`,
	"faiss-cpu": `import faiss, numpy as np

faiss.omp_set_num_threads(3)

def use():
    points = np.random.RandomState(0).rand(3000, 16).astype("f")
    index = faiss.IndexFlatL2(16)
    index.add(points)
    return (index.search(points[:500], 1)[1].ravel() == np.arange(500)).all().item()
`,
	"datafusion": `import datafusion

def use():
    return datafusion.SessionContext().sql("select sum(v) s from (values (1), (2)) t(v)").to_pydict() == {"s": [3]}
`,
	"duckdb": `import duckdb

connections = []

def use():
    connections.append(duckdb.connect())
    return connections[-1].execute("select sum(i) from range(3000000) t(i)").fetchone()[0] == 4499998500000
`,
	"pyzmq": `import zmq

def use():
    context = zmq.Context.instance()
    ends = context.socket(zmq.PUSH), context.socket(zmq.PULL)
    ends[0].connect(f"tcp://127.0.0.1:{ends[1].bind_to_random_port('tcp://127.0.0.1')}")
    ends[0].send(b"x")
    return ends[1].recv() == b"x"
`,
	"pyarrow": `import numpy as np, pyarrow

table = pyarrow.table({"k": np.arange(1000000) % 7, "v": np.arange(1000000)})

def use():
    return sum(table.group_by("k").aggregate([("v", "sum")])["v_sum"].to_pylist()) == 499999500000
`,
	"lightgbm": `import lightgbm, numpy as np

points = np.random.RandomState(0).rand(2000, 4)

def use():
    data = lightgbm.Dataset(points, points[:, 0] > 0.5)
    model = lightgbm.train({"objective": "binary", "num_threads": 3, "verbose": -1}, data, 5)
    return ((model.predict(points) > 0.5) == (points[:, 0] > 0.5)).mean().item() > 0.9
`,
	"blosc2": `import blosc2, numpy as np

numbers = np.arange(2000000)

def use():
    blosc2.set_nthreads(3)
    return blosc2.decompress2(blosc2.compress2(numbers)) == numbers.tobytes()
`,
}

var triedRow = regexp.MustCompile(`(?m)^\| ` + "`([a-z0-9-]+)==(.+)`" + ` \| (forked|refused) \| (forked|refused) \|$`)

// TestPreload_Libraries tries each library of the documents' table, in the version that stands there: whether a model that
// imports it, or that has computed with it in its import, is forked, and that it then computes rightly.
func TestPreload_Libraries(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	python := harness.Tool(t, "venvs/libraries-full/bin/python")
	pins := harness.ReadFile(t, "requirements-libraries-full.txt")
	rows := triedRow.FindAllStringSubmatch(harness.ReadFile(t, "../docs/how-to/preload.md"), -1)
	assert.Equal(t, "rows of docs/how-to/preload.md", len(rows), len(tried))
	for _, row := range rows {
		library := row[1]
		t.Run(library, func(t *testing.T) {
			assert.Contains(t, "the pins", pins, fmt.Sprintf("\n%s==%s\n", library, row[2]))
			assert.TrueNow(t, tried[library] != "", "%s: got no code that uses it, want some", library)
			for i, more := range []string{"", "assert use()\n"} {
				dir := harness.NewFolder(t, "run.py", tried[library]+more+`
from cog import BaseRunner


class Runner(BaseRunner):
    def run(self) -> bool:
        return use()
`)
				s := harness.Ready(t, harness.Options{
					Dir: dir, Model: "run.py:Runner", Python: python, Args: []string{"--preload", "--predict-timeout", "2m"},
				})
				state := strings.Replace(preloadProcess(t, s).State, "ready", "forked", 1)
				assert.Equal(t, fmt.Sprintf("a model that begins with %q", more), state, row[3+i])
				harness.EqualJSON(t, "what it computes", s.Succeed(harness.Input{}).Output, "true")
			}
		})
	}
}
