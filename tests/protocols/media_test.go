package protocols

import (
	"testing"

	"pinion/tests/harness"
)

// TestMedia_BodiesOfAnotherType: each protocol says in its own shape that it takes JSON, and what came instead.
func TestMedia_BodiesOfAnotherType(t *testing.T) {
	t.Parallel()
	const form, types = "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b--\r\n", "multipart/form-data; boundary=b"
	const text = `invalid JSON at byte 1: invalid number; the Content-Type is \"multipart/form-data\": must be application/json`
	s := platform(t, "Adder", "AIP_HEALTH_ROUTE=/health", "AIP_PREDICT_ROUTE=/predict")
	for path, want := range map[string]string{
		"/v2/models/m/infer":           `{"error":"` + text + `"}`,
		"/v2/models/m/generate":        `{"error":"` + text + `"}`,
		"/v2/models/m/generate_stream": `{"error":"` + text + `"}`,
		"/v1/models/m:predict":         `{"error":"` + text + `"}`,
		"/predict":                     `{"error":"` + text + `"}`,
		"/invocations":                 `{"error":"the body is multipart/form-data, and the model has no file input: send application/json"}`,
	} {
		exchange{path: path, body: form, headers: []string{"Content-Type", types}, status: 400, want: want}.check(t, s)
	}
	exchange{
		path: "/v1/models/m:predict", body: "x=1", headers: []string{"Content-Type", "application/x-www-form-urlencoded"},
		status: 400,
		want:   `{"error":"invalid JSON at byte 0: unexpected character; the Content-Type is \"application/x-www-form-urlencoded\": must be application/json"}`,
	}.check(t, s)
	exchange{
		path: "/v1/models/m:predict", body: `{"instances":[1]}`, headers: []string{"Content-Type", types}, status: 200,
		want: `{"predictions":[{"sum":2,"batch":1}]}`,
	}.check(t, s)

	s = harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"},
	})
	exchange{
		path: "/v1/chat/completions", body: form, headers: []string{"Content-Type", types}, status: 400,
		want: `{"error":{"message":"The request's body cannot be read: ` + text +
			`.","type":"invalid_request_error","param":null,"code":null}}`,
	}.check(t, s)
	exchange{
		path: "/v1/audio/transcriptions", body: "x", headers: []string{"Content-Type", ""}, status: 400,
		want: `{"error":{"message":"Send the body as multipart/form-data, not without a Content-Type","type":"invalid_request_error","param":null,"code":null}}`,
	}.check(t, s)
}
