package api

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestDocuments_LoadNothing: any page may send a GET, so what answers one neither loads a model nor unloads another.
func TestDocuments_LoadNothing(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {b: {path: b, load: on-demand}, a: {path: a, load: on-demand}}\n", "--reload")
	document := `{"openapi":"3.0.2","info":{"title":"Cog","version":"0.1.0"},"paths":{},"components":{"schemas":{` +
		`"Input":{"type":"object","properties":{"text":{"type":"string"}}},"Output":{"type":"string"}}}}`
	harness.WriteFile(t, filepath.Join(dir, "b", ".cog", "openapi_schema.json"), document)
	want := map[string]int{
		"/models/a/openapi.json": 503, "/models/b/openapi.json": 200, "/openapi.json": 200,
		"/v2/models/a": 503, "/v2/models/a/versions/1": 503, "/v2/models/b": 200,
		"/v2/models/a/ready": 200, "/v1/models": 200, "/v1/models/a": 200, "/models/a": 200, "/models/a/docs": 200,
		"/models/a/":             200,
		"/models/a/health-check": 200, "/models/a/health-check?example": 200, "/models/a/readyz?example": 200,
		"/models/a/predictions/p": 404,
	}
	from := [][]string{
		nil, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://evil.test"}, {"Referer", "http://evil.test/page"},
	}
	for path, code := range want {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, headers := range from {
				harness.WantCode(t, method+" "+path+" "+strings.Join(headers, ": "), s.Do(method, path, nil, headers...), code)
			}
		}
	}
	for _, path := range []string{
		"/models/a/predictions", "/models/a/load", "/models/a/reload", "/models/a/predictions/p/cancel",
		"/v1/models/a:predict", "/v2/models/a/infer",
		"/v2/models/a/generate", "/v2/repository/models/a/load", "/v1/chat/completions", "/invocations", "/shutdown",
	} {
		for _, headers := range from[1:] {
			got := s.Do(http.MethodPost, path, `{"model":"a"}`, headers...)
			harness.WantCode(t, "POST "+path+" "+strings.Join(headers, ": "), got, http.StatusForbidden)
		}
	}
	for name, entry := range modelEntries(t, s) {
		assert.Equal(t, name, entry.State, "unloaded")
	}
	harness.WantCode(t, "a page of this server",
		s.Do(http.MethodPost, "/models/a/predictions", `{"input":{}}`, "Referer", s.Address+"/models/a/docs"), http.StatusOK)
	harness.WantCode(t, "the schema of a loaded model", s.Do(http.MethodGet, "/models/a/openapi.json", nil), http.StatusOK)
}

// TestDocuments_OverGRPC load nothing either.
func TestDocuments_OverGRPC(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--load", "on-demand", "--model", "m", "--grpc-port", "0"},
	})
	_, client := s.GRPC()
	_, err := client.ModelMetadata(t.Context(), &pb.ModelMetadataRequest{Name: "m"})
	assert.Equal(t, fmt.Sprintf("%v", err), status.Code(err), codes.Unavailable)
	assert.Equal(t, "status", s.Health().Status, "UNLOADED")
}
