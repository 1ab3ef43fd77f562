package api

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/harness"
)

// hubNames are names as model hubs have them.
var hubNames = []string{
	"meta-llama/Llama-3.1-8B-Instruct", "qwen2.5:7b", "meta-llama/Llama-3.1-8B-Instruct/extra",
	"hf.co/a/_b:Q4_K_M",
}

// TestModelNames_OfHubs name models for all clients: escaped below /models, and as clients send them elsewhere.
func TestModelNames_OfHubs(t *testing.T) {
	t.Parallel()
	dir, folders := harness.ModelFolders(t,
		map[string]harness.Python{
			"m0": harness.OldestPython(t), "m1": harness.OldestPython(t), "m2": harness.OldestPython(t),
			"m3": harness.OldestPython(t),
		})
	var models []string
	for i, name := range hubNames {
		_, folder, _ := strings.Cut(folders[i], "=")
		harness.WriteFile(t, filepath.Join(folder, "run.py"),
			"import cog\n\n@cog.openai(\"completions\")\ndef run(prompt: str) -> str:\n    return "+fmt.Sprintf("%q", name)+
				" + prompt\n")
		harness.WriteFile(t, filepath.Join(folder, "cog.yaml"), "run: run.py:run\n")
		models = append(models, name+"="+folder)
	}
	s := harness.Start(t, harness.Options{Dir: dir, Models: models, Args: []string{"--reload", "--grpc-port", "0"}})
	harness.WaitModels(t, s)
	_, client := s.GRPC()
	entries := modelEntries(t, s)
	for _, name := range hubNames {
		escaped := url.PathEscape(name)
		want := name + "x"
		native := s.Do(http.MethodPost, "/models/"+escaped+"/predictions", `{"input":{"prompt":"x"}}`)
		harness.WantAnswer(t, "native", native, http.StatusOK, `"output":"`+want+`"`)
		for _, path := range []string{"", "/health-check", "/openapi.json", "/docs", "/dashboard", "/readyz"} {
			harness.WantCode(t, path, s.Do(http.MethodGet, "/models/"+escaped+path, nil), http.StatusOK)
		}
		harness.WantCode(t, "its schema's URL", s.Do(http.MethodGet, entries[name].SchemaURL, nil), http.StatusOK)
		harness.WantCode(t, "load", s.Do(http.MethodPost, "/models/"+escaped+"/load", nil), http.StatusOK)
		for _, path := range []string{name, escaped, strings.ToLower(url.QueryEscape("/"))} {
			if strings.HasPrefix(path, "%") {
				path = strings.ReplaceAll(name, "/", path)
			}
			harness.WantAnswer(t, "KServe's model", s.Do(http.MethodGet, "/v1/models/"+path, nil), http.StatusOK,
				`"id":"`+name+`"`)
			harness.WantAnswer(t, "KServe v1", s.Do(http.MethodPost, "/v1/models/"+path+":predict", `{"instances":["x"]}`),
				http.StatusOK, `{"predictions":["`+want+`"]}`)
			harness.WantAnswer(t, "metadata", s.Do(http.MethodGet, "/v2/models/"+path, nil), http.StatusOK, `"name":"`+name+`"`)
			harness.WantAnswer(t, "ready", s.Do(http.MethodGet, "/v2/models/"+path+"/versions/1/ready", nil), http.StatusOK,
				`"ready":true`)
			infer := s.Do(http.MethodPost, "/v2/models/"+path+"/infer",
				`{"inputs":[{"name":"prompt","datatype":"BYTES","shape":[1],"data":["x"]}]}`)
			harness.WantAnswer(t, "infer", infer, http.StatusOK, `"data":["`+want+`"]`)
			harness.WantCode(t, "load", s.Do(http.MethodPost, "/v2/repository/models/"+path+"/load", nil), http.StatusOK)
		}
		completion := s.Do(http.MethodPost, "/v1/completions", map[string]any{"model": name, "prompt": "x"})
		harness.WantAnswer(t, "OpenAI", completion, http.StatusOK, `"text":"`+want+`"`)
		got, err := client.ModelInfer(t.Context(),
			&pb.ModelInferRequest{ModelName: name, Inputs: []*pb.ModelInferRequest_InferInputTensor{{
				Name: "prompt", Datatype: "BYTES", Shape: []int64{1},
				Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte("x")}},
			}}})
		if err != nil || got.GetModelName() != name {
			t.Errorf("gRPC, %s: %v: got %.300q, want %q", name, err, got.GetModelName(), name)
		}
	}
	for _, path := range []string{
		"/v2/models/meta-llama/other/infer", "/v2/models/meta-llama/Llama-3.1-8B-Instruct2",
		"/models/meta-llama%2Fother/readyz",
	} {
		harness.WantCode(t, path, s.Do(http.MethodGet, path, nil), http.StatusNotFound)
	}
}

// TestModelNames_OfHubsByFlag name the only model of a server; a queue has its own name for it.
func TestModelNames_OfHubsByFlag(t *testing.T) {
	t.Parallel()
	const name = "meta-llama/Llama-3.1-8B-Instruct"
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: []string{"--model", name}})
	harness.WantAnswer(t, "metadata", s.Do(http.MethodGet, "/v2/models/"+name, nil), http.StatusOK, `"name":"`+name+`"`)
	harness.WantCode(t, "its own path", s.Do(http.MethodGet, "/models/"+url.PathEscape(name)+"/readyz", nil),
		http.StatusOK)
	dir, folders := harness.ModelFolders(t, map[string]harness.Python{"m": harness.OldestPython(t)})
	_, folder, _ := strings.Cut(folders[0], "=")
	s = harness.Start(t, harness.Options{
		Dir: dir, Models: []string{name + "=" + folder}, Args: []string{"--nats", "embed:" + t.TempDir(), "--model", "m"},
	})
	harness.WaitModels(t, s)
	harness.WantCode(t, "an asynchronous prediction", s.Create(`{"id":"p1","input":{}}`, "Prefer", "respond-async"),
		http.StatusAccepted)
	harness.WaitStatus(t, s, "p1", "succeeded")
	harness.WantAnswer(t, "metadata", s.Do(http.MethodGet, "/v2/models/"+name, nil), http.StatusOK, `"name":"`+name+`"`)
}
