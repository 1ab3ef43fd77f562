package protocols

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

const picky = `
from collections.abc import AsyncIterator, Iterator
import cog

class NoFace(cog.InputError):
    pass

def check(n: int) -> int:
    if n == 1:
        raise cog.InputError("one is odd", status=404, code="odd")
    if n == 2:
        raise NoFace("no face ü")
    if n == 3:
        raise ValueError("mine")
    return n

def plain(n: int) -> int:
    return check(n)

async def waits(n: int) -> int:
    return check(n)

@cog.streaming
def items(n: int) -> Iterator[int]:
    yield 7
    yield check(n)

@cog.streaming
async def later(n: int) -> AsyncIterator[int]:
    yield 7
    yield check(n)

class Batched(cog.BaseRunner):
    @cog.batch(max_size=4)
    def run(self, n: list[int]) -> list[int]:
        return [check(one) for one in n]

class Chat(cog.BaseRunner):
    @cog.openai("chat")
    def run(self, messages: list[dict], model: str = "m") -> str:
        raise cog.InputError("no " + messages[-1]["content"], status=413, code="long")
`

// TestInputErrors_OfEachFunction are the client's fault: for who waits, in metrics, and without a traceback in the log.
func TestInputErrors_OfEachFunction(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range []struct {
			name string
			args []string
		}{
			{"plain", nil},
			{"plain", []string{"--concurrency", "2"}},
			{"waits", nil},
			{"items", nil},
			{"later", nil},
			{"Batched", nil},
		} {
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Dir: harness.NewFolder(t, "run.py", picky), Model: "run.py:" + c.name, Args: c.args,
			})
			a := s.Input(harness.Input{"n": 1})
			harness.WantAnswer(t, c.name+" of 1", a, http.StatusNotFound,
				`"status":"failed","error":"one is odd","error_status":404,"error_code":"odd","logs":""`)
			harness.WantAnswer(t, c.name+" of 2", s.Input(harness.Input{"n": 2}), http.StatusUnprocessableEntity,
				`"status":"failed","error":"no face ü","error_status":422,"logs":""`)
			a = s.Input(harness.Input{"n": 3})
			harness.WantAnswer(t, c.name+" of 3", a, http.StatusOK, `"status":"failed","error":"ValueError: mine","logs":"Traceback`)
			harness.WantCode(t, c.name+" of 4", s.Input(harness.Input{"n": 4}), http.StatusOK)

			f := harness.Scrape(t, s)
			assert.Equal(t, c.name+": the clients' faults", f.Ends("sync", "failed", "input"), 2)
			assert.Equal(t, c.name+": the model's", f.Ends("sync", "failed", "model"), 1)

			a = s.Create(harness.Input{"id": "later", "input": harness.Input{"n": 1}}, "Prefer", "respond-async")
			harness.WantCode(t, c.name+", asynchronous", a, http.StatusAccepted)
			assert.Eventually(t, c.name+" has failed", func() bool {
				a = s.Do(http.MethodGet, "/predictions/later", nil)
				return a.Status == "failed"
			})
			harness.WantAnswer(t, c.name+", asked later", a, http.StatusOK, `"error":"one is odd","error_status":404,"error_code":"odd"`)
			if c.name == "items" || c.name == "later" {
				a = s.Create(harness.Input{"input": harness.Input{"n": 1}}, "Accept", "text/event-stream")
				harness.WantAnswer(t, c.name+" as a stream", a, http.StatusOK, `"output":[7],"error":"one is odd","error_status":404`)
			}
		}
	})
}

// TestInputErrors_OfLibraries: exceptions of pydantic and FastAPI say that the client is at fault, except for an
// HTTPException of 500 and above.
func TestInputErrors_OfLibraries(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Python: harness.Tool(t, "venvs/protocols/bin/python"),
		Dir: harness.NewFolder(t, "run.py", `
from fastapi import HTTPException
from pydantic import BaseModel

class Box(BaseModel):
    width: int

class Mine(HTTPException):
    pass

def run(n: int) -> int:
    if n == 1:
        Box(width="wide")
    if n == 2:
        raise Mine(409, {"why": "taken"})
    if n == 3:
        raise HTTPException(400, "no")
    raise HTTPException(503, "later")
`), Model: "run.py:run",
	})
	for _, c := range []struct {
		n, code int
		want    string
	}{
		{1, http.StatusUnprocessableEntity, `"error":"pydantic_core._pydantic_core.ValidationError: 1 validation error for Box\nwidth`},
		{2, http.StatusConflict, `"error":"{\"why\": \"taken\"}","error_status":409`},
		{3, http.StatusBadRequest, `"error":"no","error_status":400,"logs":"Traceback`},
		{4, http.StatusOK, `"error":"fastapi.exceptions.HTTPException: 503: later","logs":"Traceback`},
	} {
		harness.WantAnswer(t, "the prediction", s.Input(harness.Input{"n": c.n}), c.code, c.want)
	}
}

// TestInputErrors_InEachProtocol have its shape and the model's status.
func TestInputErrors_InEachProtocol(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", picky)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:plain", Args: []string{"--model", "m", "--grpc-port", "0"}, Env: []string{"REPLICATE_API_TOKEN=x"},
	})
	chat := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Chat", Args: []string{"--model", "m"}})
	for _, c := range []struct {
		s          *harness.Server
		path, body string
		code       int
		want       string
	}{
		{s, "/v1/models/m:predict", `{"instances":[{"n":1}]}`, 404, `"error":"instance 0: one is odd"`},
		{s, "/invocations", `{"n":1}`, 404, "one is odd"},
		{s, "/v2/models/m/infer", `{"inputs":[{"name":"n","datatype":"INT64","shape":[1],"data":[1]}]}`, 404, "one is odd"},
		{s, "/v1/predictions", `{"version":"m","input":{"n":1}}`, 201, ""},
		{chat, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"cats"}]}`, 413, `{"error":{"message":"no cats","type":"invalid_request_error","param":null,"code":"long"}}`},
		{chat, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"cats"}]}`, 413, `{"type":"error","error":{"type":"request_too_large","message":"no cats"}}`},
	} {
		harness.WantAnswer(t, c.path, c.s.Do(http.MethodPost, c.path, []byte(c.body)), c.code, c.want)
	}
	_, client := s.GRPC()
	_, err := client.ModelInfer(t.Context(), &pb.ModelInferRequest{
		ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
			Name: "n", Datatype: "INT64", Shape: []int64{1}, Contents: &pb.InferTensorContents{Int64Contents: []int64{1}},
		}},
	})
	got, _ := status.FromError(err)
	assert.True(t, got.Code() == codes.InvalidArgument && strings.Contains(got.Message(), "one is odd"), "gRPC: got %v", err)
}
