package protocols

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// exchange is a request and the answer that is wanted. method is POST if body is not empty.
type exchange struct {
	path, body string
	headers    []string
	status     int
	want       string
}

func (e exchange) check(t *testing.T, s *harness.Server) {
	t.Helper()
	method, headers := http.MethodGet, e.headers
	if e.body != "" {
		method = http.MethodPost
	}
	answer := s.Do(method, e.path, []byte(e.body), headers...)
	if got := string(answer.Body); answer.Code != e.status || got != e.want {
		t.Errorf("%s %s %s\n got %d %s\nwant %d %s", method, e.path, e.body, answer.Code, got, e.status, e.want)
	}
}

const twoSums = `{"predictions":[{"sum":2,"batch":2},{"sum":3,"batch":2}]}`

func platform(t *testing.T, class string, env ...string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{Model: "platforms.py:" + class, Args: []string{"--model", "m"}, Env: env})
}

// TestPlatforms_KServeV1 asks by raw HTTP: instances in one batch, parameters, errors in the protocol's shape, and the
// list of models, which OpenAI's clients read too.
func TestPlatforms_KServeV1(t *testing.T) {
	t.Parallel()
	s := platform(t, "Adder")
	const predict = "/v1/models/m:predict"
	for _, e := range []exchange{
		{path: predict, body: `{"instances":[1,{"x":2}]}`, status: 200, want: twoSums},
		{
			path: predict, body: `{"inputs":[1,2],"parameters":{"add":10}}`, status: 200,
			want: `{"predictions":[{"sum":11,"batch":2},{"sum":12,"batch":2}]}`,
		},
		{path: predict, body: `{"instances":[]}`, status: 200, want: `{"predictions":[]}`},
		{
			path: predict, body: `{"instances":[1,"a"]}`, status: 400,
			want: `{"error":"instance 1: input x: \"a\" is not of type \"integer\""}`,
		},
		{
			path: predict, body: `{"instances":[1,2,13]}`, status: 500,
			want: `{"error":"instance 2: ValueError: 13 is not added to"}`,
		},
		{path: predict, body: `{"instances":[1]`, status: 400, want: `{"error":"invalid JSON at byte 16: unexpected end"}`},
		{
			path: "/v1/models/other:predict", body: `{"instances":[1]}`, status: 404,
			want: `{"error":"unknown model \"other\": this server has \"m\""}`,
		},
		{
			path: "/v1/models/m:explain", body: `{"instances":[1]}`, status: 405,
			want: `{"error":"/v1/models/m:explain does not take POST"}`,
		},
	} {
		e.check(t, s)
	}
	answer := s.Do(http.MethodGet, "/v1/models", nil)
	got := string(answer.Body)
	assert.True(t, strings.HasPrefix(got, `{"object":"list","data":[{"id":"m","object":"model","created":`) &&
		strings.HasSuffix(got, `"owned_by":"pinion","name":"m","ready":true}],"models":["m"]}`),
		"the models are %s, want it starting with %q and ending in %q", got,
		`{"object":"list","data":[{"id":"m","object":"model","created":`,
		`"owned_by":"pinion","name":"m","ready":true}],"models":["m"]}`)
}

// TestInstances_KeysBesideAreNamed: in the answer and in the log, also of a request that is refused for another reason,
// and inputs of instances that the model does not have.
func TestInstances_KeysBesideAreNamed(t *testing.T) {
	t.Parallel()
	s := platform(t, "Adder", "AIP_PREDICT_ROUTE=/vertex")
	for _, c := range []struct {
		path, body string
		status     int
		want       []string
	}{
		{"/v1/models/m:predict", `{"instances":[1],"signature_name":"serving_default"}`, 200, nil},
		{
			"/v1/models/m:predict", `{"inputs":[1,2],"ad":5,"parametrs":{}}`, 200,
			[]string{
				`unknown key "ad"; did you mean "add" in "parameters"?`,
				`unknown key "parametrs"; did you mean "parameters"?`,
			},
		},
		{
			"/v1/models/m:predict", `{"instances":["a"],"add":5}`, 400,
			[]string{`unknown key "add"; did you mean "add" in "parameters"?`},
		},
		{
			"/v1/models/m:predict", `{"instances":[{"x":1,"ad":2},{"x":2,"ad":2}]}`, 200,
			[]string{`unknown input "ad"; did you mean "add"?`},
		},
		{"/vertex", `{"instances":[1],"inputs":[2]}`, 200, []string{`unknown key "inputs"`}},
		{
			"/invocations", `{"instances":[1],"add":5}`, 200,
			[]string{`unknown key "add"; did you mean "add" in "parameters"?`},
		},
		{"/invocations", `{"input":{"x":1},"add":5}`, 200, []string{`unknown key "add"; did you mean "add" in "input"?`}},
		{"/invocations", `{"x":1,"ad":5}`, 200, []string{`unknown input "ad"; did you mean "add"?`}},
	} {
		a := s.Do(http.MethodPost, c.path, []byte(c.body))
		if got := a.Header.Values("Pinion-Warning"); a.Code != c.status || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: got %d %q, want %d %q", c.path, c.body, a.Code, got, c.status, c.want)
		}
	}
	assert.Eventually(t, "the log names the keys", func() bool {
		return slices.ContainsFunc(s.Log.Lines(), func(line harness.Line) bool {
			return strings.Contains(line.Raw, `"keys":["ad","parametrs"]`)
		})
	})
}

// TestPlatforms_KServeV1Alone: without OpenAI's protocol the list of models is there, and errors have KServe's shape.
func TestPlatforms_KServeV1Alone(t *testing.T) {
	t.Parallel()
	s := platform(t, "Adder", "PINION_PROTOCOLS=kserve-v1")
	exchange{
		path: "/v1/models/other", status: 404,
		want: `{"error":"unknown model \"other\": this server has \"m\""}`,
	}.check(t, s)
	exchange{path: "/v1/chat/completions", body: "{}", status: 404, want: `{"detail":"Not Found"}`}.check(t, s)
	harness.WantAnswer(t, "the answer", s.Do(http.MethodGet, "/v1/models/m", nil), 200, `"name":"m","ready":true}`)
}

// TestPlatforms_VertexAI sets the environment of a container of Vertex AI: the port, and paths that are partly the
// native API's.
func TestPlatforms_VertexAI(t *testing.T) {
	t.Parallel()
	s := platform(t, "Adder", "AIP_HEALTH_ROUTE=/predictions/health", "AIP_PREDICT_ROUTE=/predictions")
	for _, e := range []exchange{
		{path: "/predictions/health", status: 200},
		{path: "/predictions", body: `{"instances":[{"x":1},{"x":2}]}`, status: 200, want: twoSums},
		{
			path: "/predictions", body: `{"instances":[{"x":1}],"parameters":{"add":2}}`, status: 200,
			want: `{"predictions":[{"sum":3,"batch":1}]}`,
		},
		{
			path: "/predictions", body: `{"instances":[{"y":1}]}`, status: 400,
			want: `{"error":"instance 0: input x: Field required"}`,
		},
		{
			path: "/predictions", body: `{"input":{"x":1}}`, status: 400,
			want: `{"error":"missing instances: send a list of them"}`,
		},
		{path: "/predictions/other", status: 404, want: `{"detail":"Prediction not found"}`},
	} {
		e.check(t, s)
	}
}

// TestPlatforms_VertexAIPort has the server listen at the port of AIP_HTTP_PORT, which beats the image's own PORT, and
// answer its health without a token.
func TestPlatforms_VertexAIPort(t *testing.T) {
	t.Parallel()
	tokens := harness.TokenFile(t, "a-token-0123456789")
	s := harness.Ready(t, harness.Options{
		Model: "platforms.py:Adder", PortFromEnv: true, Args: []string{"--auth-token-file", tokens},
		Env: []string{
			"AIP_HTTP_PORT=0", "PORT=1", "AIP_HEALTH_ROUTE=/v1/endpoints/1/deployedModels/2",
			"AIP_PREDICT_ROUTE=/v1/endpoints/1/deployedModels/2:predict",
		},
	})
	exchange{path: "/v1/endpoints/1/deployedModels/2", status: 200}.check(t, s)
	const predict = "/v1/endpoints/1/deployedModels/2:predict"
	harness.WantCode(t, "without a token", s.Do(http.MethodPost, predict, []byte(`{"instances":[1]}`)), 401)
	exchange{
		path: predict, body: `{"instances":[1,2]}`, headers: []string{"Authorization", "Bearer a-token-0123456789"},
		status: 200, want: twoSums,
	}.check(t, s)
}

// TestPlatforms_NameWhatIsNoArray: whether a list is an array of numbers is seen where it is read. That is the client's
// mistake too.
func TestPlatforms_NameWhatIsNoArray(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "tensors.py:Scaler", Args: []string{"--model", "m"}})
	for _, e := range []exchange{
		{
			path: "/v1/models/m:predict", body: `{"instances":[[1,2],["a"]]}`, status: 400,
			want: `{"error":"instance 1: input \"x\": [0] must be a number, got 'a'"}`,
		},
		{
			path: "/invocations", body: `{"x":[[1,2],[3,"a"]]}`, status: 400,
			want: `{"error":"input \"x\": [1][1] must be a number, got 'a'"}`,
		},
	} {
		e.check(t, s)
	}
}

// TestPlatforms_SageMakerJSON asks by raw HTTP, as SageMaker asks a container that it started with "serve".
func TestPlatforms_SageMakerJSON(t *testing.T) {
	t.Parallel()
	s := platform(t, "Adder")
	for _, e := range []exchange{
		{path: "/ping", status: 200},
		{path: "/invocations", body: `{"x":1}`, status: 200, want: `{"sum":2,"batch":1}`},
		{path: "/invocations", body: `{"instances":[1,2]}`, status: 200, want: twoSums},
		{path: "/invocations", body: `{"x":"a"}`, status: 400, want: `{"error":"input x: \"a\" is not of type \"integer\""}`},
		{path: "/invocations", body: `{"x":13}`, status: 500, want: `{"error":"ValueError: 13 is not added to"}`},
		{
			path: "/invocations", body: `7`, status: 400,
			want: `{"error":"the body must be an object, not of type number: send the inputs by name, {\"input\": {…}} or {\"instances\": […]}"}`,
		},
		{
			path: "/invocations", body: `abc`, headers: []string{"Content-Type", "text/csv"}, status: 400,
			want: `{"error":"the body is text/csv, and the model has no file input: send application/json"}`,
		},
	} {
		e.check(t, s)
	}
	long := s.Do(http.MethodPost, "/invocations", []byte("abc"), "Content-Type", "text/"+strings.Repeat("x", 20_000))
	assert.True(t, long.Code == 400 && len(long.Body) <= 500,
		"a long content type: %d with %d bytes: %.300s, want 400 and at most 500 bytes", long.Code, len(long.Body), long.Body)
	const attributes = "X-Amzn-Sagemaker-Custom-Attributes"
	answer := s.Do(http.MethodPost, "/invocations", []byte(`{"input":{"x":1}}`), attributes, "trace=7")
	assert.True(t, answer.Code == 200 && answer.Prediction.Status == "succeeded" &&
		string(answer.Prediction.Output) == `{"sum":2,"batch":1}` && answer.Header.Get(attributes) == "trace=7",
		`%d %v %s, want Code 200, Status succeeded, Output %q and Get "trace=7"`, answer.Code, answer.Header, answer.Body,
		`{"sum":2,"batch":1}`)
	answer = s.Do(http.MethodPost, "/invocations", []byte(`{"input":{"x":13}}`))
	assert.True(t, answer.Code == 500 && answer.Prediction.Status == "failed" &&
		answer.Prediction.Error == "ValueError: 13 is not added to",
		`%d %s, want Code 500, Status failed and Error "ValueError: 13 is not added to"`, answer.Code, answer.Body)
}

// TestPlatforms_SageMakerFiles sends the only file input as the body, and gets the output file as it is.
func TestPlatforms_SageMakerFiles(t *testing.T) {
	t.Parallel()
	s := platform(t, "Upper")
	for _, headers := range [][]string{
		{"Content-Type", "application/octet-stream"},
		{"Content-Type", "text/plain; charset=utf-8"},
	} {
		exchange{path: "/invocations", body: "abc", headers: headers, status: 200, want: "ABC"}.check(t, s)
	}
	answer := s.Do(http.MethodPost, "/invocations", []byte(`{"file":"data:text/plain;base64,YWJj","suffix":"!"}`))
	assert.Equal(t, "body", string(answer.Body), "ABC!")
	assert.Equal(t, `answer.Header.Get("Content-Type")`, answer.Header.Get("Content-Type"), "text/plain")
}

// TestPlatforms_SageMakerStreams: a data line for each item; an error ends the stream.
func TestPlatforms_SageMakerStreams(t *testing.T) {
	t.Parallel()
	sse := []string{"Accept", "text/event-stream"}
	s := platform(t, "Words")
	for body, want := range map[string]string{
		`{"text":"a b"}`:           "data: \"a\"\n\ndata: \"b\"\n\n",
		`{"input":{"text":"a"}}`:   "data: \"a\"\n\n",
		`{"text":"a bad b"}`:       "data: \"a\"\n\ndata: {\"error\":\"ValueError: a bad word\"}\n\n",
		`{"instances":["a", "b"]}`: `{"error":"a stream is of one prediction: send its inputs by name, not as instances"}`,
	} {
		answer := s.Do(http.MethodPost, "/invocations", body, sse...)
		assert.True(t, string(answer.Body) == want, "%s\n got %q\nwant %q", body, answer.Body, want)
	}
	whole := platform(t, "Adder")
	exchange{
		path: "/invocations", body: `{"x":1}`, headers: sse, status: 200,
		want: "data: {\"sum\":2,\"batch\":1}\n\n",
	}.check(t, whole)
}

// TestPlatforms_SageMakerPort: SageMaker's port beats the others; before the end of setup the health is 503.
func TestPlatforms_SageMakerPort(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{
		Model: "setups.py:Hanging", PortFromEnv: true, Env: []string{"SAGEMAKER_BIND_TO_PORT=0", "AIP_HTTP_PORT=1", "PORT=1"},
	})
	exchange{path: "/ping", status: 503}.check(t, s)
}

// TestPlatforms_NamesThatPathsEscape: the name of a model's folder may have what clients escape in a path.
func TestPlatforms_NamesThatPathsEscape(t *testing.T) {
	t.Parallel()
	const name = "Müller, 50% off"
	dir := filepath.Join(t.TempDir(), name)
	harness.WriteFile(t, filepath.Join(dir, "run.py"), harness.ReadFile(t, "models/platforms.py"))
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--predictor", "run.py:Adder"}})
	escaped := url.PathEscape(name)
	for _, e := range []exchange{
		{path: "/v2/models/" + escaped + "/ready", status: 200, want: `{"name":"` + name + `","ready":true}`},
		{path: "/v2/models/" + escaped + "/versions/%31/ready", status: 200, want: `{"name":"` + name + `","ready":true}`},
		{
			path: "/v1/models/" + escaped + ":predict", body: `{"instances":[1]}`, status: 200,
			want: `{"predictions":[{"sum":2,"batch":1}]}`,
		},
	} {
		e.check(t, s)
	}
	harness.WantAnswer(t, "OpenAI's model", s.Do(http.MethodGet, "/v1/models/"+escaped, nil), 200, `"id":"`+name+`"`)
}

// TestPaths_Escaped: a path may have escapes for any of its characters, at every route.
func TestPaths_Escaped(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "platforms.py:Adder", Args: []string{"--model", "a"}})
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/", ""},
		{http.MethodGet, "/health-check", ""},
		{http.MethodGet, "/livez", ""},
		{http.MethodGet, "/readyz", ""},
		{http.MethodGet, "/metrics", ""},
		{http.MethodGet, "/docs", ""},
		{http.MethodGet, "/dashboard", ""},
		{http.MethodGet, "/openapi.json", ""},
		{http.MethodPost, "/predictions", `{"input":{"x":1}}`},
		{http.MethodPut, "/predictions/p1", `{"input":{"x":1}}`},
		{http.MethodGet, "/predictions/p1", ""},
		{http.MethodGet, "/v1/models", ""},
		{http.MethodGet, "/v1/models/a", ""},
		{http.MethodPost, "/v1/models/a:predict", `{"instances":[1]}`},
		{http.MethodGet, "/v2", ""},
		{http.MethodGet, "/v2/health/ready", ""},
		{http.MethodGet, "/v2/models/a", ""},
		{http.MethodGet, "/v2/models/a/versions/1/ready", ""},
		{http.MethodPost, "/v2/repository/index", ""},
		{http.MethodGet, "/ping", ""},
		{http.MethodPost, "/invocations", `{"instances":[1]}`},
	} {
		escaped := ""
		for _, c := range []byte(request.path) {
			if c == '/' {
				escaped += "/"
			} else {
				escaped += fmt.Sprintf("%%%02x", c)
			}
		}
		want, got := s.Do(request.method, request.path, request.body), s.Do(request.method, escaped, request.body)
		if want.Code >= 400 || got.Code != want.Code || got.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
			t.Errorf("%s %s: got %s, want %s", request.method, escaped, got, want)
		}
	}
	for path, code := range map[string]int{
		"/predictions%2fp1": 404, "/predictions/p1%2fcancel": 404,
		"/%2e%2e/livez": 404,
	} {
		harness.WantCode(t, path, s.Do(http.MethodGet, path, nil), code)
	}
}
