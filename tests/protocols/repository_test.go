package protocols

import (
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestRepository_TritonsClients load and unload models.
func TestRepository_TritonsClients(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/triton_repository.py")
	s, _ := harness.StartTwoModels(t, "--grpc-port=0", "--reload")
	harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, s.Address, s.GRPCAddress())
}

const (
	loadB   = "/v2/repository/models/b/load"
	unloadB = "/v2/repository/models/b/unload"
)

// unloadsB asks by gRPC.
func unloadsB(t *testing.T, client pb.GRPCInferenceServiceClient, metadataPairs ...string) codes.Code {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), metadataPairs...)
	_, err := client.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: "b"})
	return status.Code(err)
}

// TestRepository_MayControl: who may load and unload models, by all routes that do.
func TestRepository_MayControl(t *testing.T) {
	t.Parallel()
	const token = "a-token-0123456789"
	proxied, bearer := []string{"X-Forwarded-For", "192.0.2.1"}, []string{"Authorization", "Bearer " + token}
	for _, c := range []struct {
		name          string
		args          []string
		headers       []string
		native, other int // answers
		remote        codes.Code
	}{
		{name: "off", native: 404, other: 403, remote: codes.PermissionDenied},
		{name: "reload", args: []string{"--reload"}, native: 200, other: 200, remote: codes.OK},
		{
			name: "reload through a proxy", args: []string{"--reload"}, headers: proxied, native: 403, other: 403,
			remote: codes.PermissionDenied,
		},
		{
			name: "token through a proxy", args: []string{"--reload", "--auth-token-file", harness.TokenFile(t, token)},
			headers: append(bearer, proxied...), native: 200, other: 200, remote: codes.OK,
		},
		{
			name: "no token", args: []string{"--reload", "--auth-token-file", harness.TokenFile(t, token)},
			native: 401, other: 401, remote: codes.Unauthenticated,
		},
		{
			name: "every client", args: []string{"--allow-model-control"}, headers: proxied, native: 200, other: 200,
			remote: codes.OK,
		},
		{
			name: "a page of another origin", args: []string{"--allow-model-control"},
			headers: []string{"Origin", "https://example.com"}, native: 403, other: 403, remote: codes.OK,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := harness.StartTwoModels(t, append(c.args, "--grpc-port=0")...)
			_, client := s.GRPC()
			for path, want := range map[string]int{
				"/models/b/unload": c.native, "/models/b/load": c.native, unloadB: c.other, loadB: c.other,
			} {
				harness.WantCode(t, path, s.Do(http.MethodPost, path, nil, c.headers...), want)
			}
			reload := s.Do(http.MethodPost, "/models/b/reload", nil, c.headers...)
			assert.Equal(t, "reload", reload.Code, max(map[int]int{200: 202}[c.native], c.native))
			assert.Equal(t, "gRPC", unloadsB(t, client, c.headers...), c.remote)
		})
	}
}

// TestRepository_OneModel: a server of one model unloads and loads it too.
func TestRepository_OneModel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: []string{"--model", "b", "--reload"}})
	for path, status := range map[string]string{unloadB: "UNLOADED", loadB: "READY"} {
		harness.WantCode(t, path, s.Do(http.MethodPost, path, []byte("{}")), http.StatusOK)
		assert.Equal(t, "health after "+path, s.Health().Status, status)
	}
	for body, want := range map[string]string{
		`[]`:                             "the body must be an object with parameters",
		`{"parameters":7}`:               "the body must be an object with parameters",
		`{"parameters":{"config":"{}"}}`: `parameter \"config\" is not supported`,
	} {
		harness.WantAnswer(t, body, s.Do(http.MethodPost, loadB, []byte(body)), http.StatusBadRequest, want)
	}
}
