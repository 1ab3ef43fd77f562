package workers

import (
	"testing"

	"pinion/tests/harness"
)

const forkedLibraries = `import os
import numpy as np
from cog import BaseRunner


def session(threads):
    import base64, onnxruntime

    model = base64.b64decode("CAg6QAoRCgF4CgF4EgF5IgZNYXRNdWwSAWdaEwoBeBIOCgwIARIICgIIQAoCCEBiEwoBeRIOCgwIARIICgIIQAoCCEBCBAoAEA0=")  # y = x @ x, of float32[64, 64]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Runner(BaseRunner):
    def setup(self) -> None:
        getattr(self, os.environ["KEEPS"])()

    def run(self) -> bool:
        return self.answer()

    def onnx_pool(self):
        self.session = session(3)
        self.answer = lambda: self.session.run(None, {"x": np.eye(64, dtype="f")})[0].sum() == 64

    def onnx(self):
        self.session = session(1)
        self.session.run(None, {"x": np.eye(64, dtype="f")})  # warm
        self.answer = lambda: self.session.run(None, {"x": np.eye(64, dtype="f")})[0].sum() == 64

    def grpc(self):
        import grpc

        self.channel = grpc.insecure_channel("127.0.0.1:9")
        grpc.channel_ready_future(self.channel)
        self.answer = lambda: True

    def h5py(self):
        import h5py

        self.file = h5py.File(f"{os.getpid()}.h5", "w")
        self.file["x"] = np.arange(3)
        self.answer = lambda: self.file["x"][:].sum() == 3

    def lmdb(self):
        import lmdb

        self.rows = lmdb.open("rows", lock=False)
        with self.rows.begin(write=True) as rows:
            rows.put(b"a", b"b")
        self.answer = lambda: self.rows.begin().get(b"a") == b"b"

    def jax(self):
        import jax.numpy as jnp

        self.weights = jnp.ones((64, 64))
        self.answer = lambda: float((self.weights @ self.weights).sum()) == 64.0**3

    def tokenizers(self):
        from tokenizers import Tokenizer, models, pre_tokenizers

        self.tokenizer = Tokenizer(models.WordLevel({"a": 0, "u": 1}, unk_token="u"))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        self.answer = lambda: len(self.tokenizer.encode_batch(["a a"] * 2000)) == 2000
        self.answer()

    def polars(self):
        import polars

        frame = polars.DataFrame({"a": range(100000)})
        self.answer = lambda: frame.group_by(polars.col("a") % 2).agg(polars.len())["len"].sum() == 100000
        self.answer()

    def openmp(self):
        from sklearn.ensemble import HistGradientBoostingRegressor

        x = np.random.RandomState(0).rand(5000, 4)
        self.x, self.y = x, x.sum(axis=1)
        self.model = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(self.x, self.y)
        self.want = self.model.predict(self.x)

    def openmp_pool(self):
        import sklearn.ensemble
        from threadpoolctl import threadpool_limits

        with threadpool_limits(3, "openmp"):
            self.openmp()

    def answer(self):
        from threadpoolctl import threadpool_info

        threads = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"}
        again = type(self.model)(max_iter=5, random_state=0).fit(self.x, self.y)
        return threads == {3} and bool(np.allclose(self.model.predict(self.x), self.want)) and bool(
            np.allclose(again.predict(self.x), self.want))
`

// TestForkedSetup_Libraries tries libraries that are known to break in a fork: each is refused by its name, or forked and then
// computes rightly, on as many threads as it is told to.
func TestForkedSetup_Libraries(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for keeps, c := range map[string]struct{ venv, reason string }{
		"onnx":      {"models", ""},
		"onnx_pool": {"models", "with intra_op_num_threads = 1 and inter_op_num_threads = 1 onnxruntime has none"},
		"grpc":      {"protocols", " of grpc"},
		"h5py":      {"libraries-full", "keeps the HDF5 file /"},
		"lmdb":      {"libraries-full", "keeps the LMDB file /"},
		"jax":       {"libraries-full", "of libjax_common.so"}, "tokenizers": {"libraries-full", ""}, "polars": {"libraries-full", "polars"},
		"openmp": {"libraries-full", ""}, "openmp_pool": {"libraries-full", "of libgomp"},
	} {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", forkedLibraries), Python: harness.Tool(t, "venvs/"+c.venv+"/bin/python"),
			Model: "run.py:Runner", Args: []string{"--preload=setup", "--predict-timeout", "1m"},
			Env: []string{"KEEPS=" + keeps, "OMP_NUM_THREADS=3"},
		})
		wantForkedSetup(t, s, keeps, c.reason)
		harness.EqualJSON(t, keeps, s.Succeed(harness.Input{}).Output, "true")
		s.Stop()
	}
}
