package queue

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestGateway_ArraysBecomeLists: a job is JSON, so an array of the Open Inference Protocol is lists in it. What lists
// cannot hold is refused.
func TestGateway_ArraysBecomeLists(t *testing.T) {
	t.Parallel()
	at := harness.StartNATS(t)
	dir := harness.NewFolder(t, "run.py", `import numpy as np
from cog import BasePredictor


class Predictor(BasePredictor):
    def predict(self, x: np.ndarray) -> str:
        return f"{x.shape} {x.tolist()}"
`)
	harness.StartMember(t, at.URL, harness.Options{
		Dir: dir, Model: "run.py:Predictor", Python: harness.Tool(t, "venvs/protocols/bin/python"),
	})
	g := harness.StartGateway(t, at.URL)
	assert.Eventually(t, "the gateway knows the model", func() bool {
		return g.Do(http.MethodGet, "/v2/models/m", nil).Code == http.StatusOK
	})
	for _, c := range []struct {
		tensor string
		code   int
		want   string
	}{
		{`"shape":[2,2],"datatype":"FP32","data":[1,2.5,-3,0]`, http.StatusOK, "(2, 2) [[1.0, 2.5], [-3.0, 0.0]]"},
		{`"shape":[0,9],"datatype":"FP32","data":[]`, http.StatusOK, "(0,) []"},
		{`"shape":[1],"datatype":"FP16","parameters":{"binary_data_size":2}`, http.StatusBadRequest, "a number that is not finite"},
		{`"shape":[1000000000,0],"datatype":"FP32","data":[]`, http.StatusBadRequest, "lists without elements"},
	} {
		text, header := `{"inputs":[{"name":"x",`+c.tensor+`}]}`, "Inference-Header-Content-Length"
		body := text
		if strings.Contains(text, "binary") {
			body += "\x00\x7e" // NaN
		}
		a := g.Do(http.MethodPost, "/v2/models/m/infer", []byte(body), header, strconv.Itoa(len(text)))
		harness.WantCode(t, c.tensor, a, c.code)
		assert.Contains(t, c.tensor, string(a.Body), c.want)
	}
}
