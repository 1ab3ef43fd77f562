package protocols

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestClients_GeneratedPythonClientWorks has openapi-python-client make a client of the document, and clients/client.py
// use it.
func TestClients_GeneratedPythonClientWorks(t *testing.T) {
	t.Parallel()
	python := harness.Tool(t, "venvs/clients/bin/python")
	s := painter(t, "Painter")
	dir := t.TempDir()
	document := fetchOpenAPI(t, s, dir)
	config := filepath.Join(dir, "config.yml")
	// Without hooks: they would format the client by a program that is not needed.
	harness.WriteFile(t, config, "package_name_override: painter\npost_hooks: []\n")
	out := harness.RunTool(t, dir, nil, python, "-m", "openapi_python_client", "generate", "--path", document, "--meta",
		"none",
		"--config", config, "--output-path", "painter")
	for line := range strings.Lines(out) {
		// It has no codec for MessagePack, and says so; anything else would be missing from the client.
		if strings.TrimSpace(line) == "Unsupported content type application/msgpack" {
			continue
		}
		if strings.Contains(line, "Unsupported") || strings.Contains(line, "ERROR") || strings.Contains(line, "Unable") {
			t.Errorf("openapi-python-client says %q, want no complaint:\n%s", line, out)
			break
		}
	}
	if warned, known := strings.Count(out, "WARNING"), strings.Count(out, "application/msgpack\n"); warned > known {
		t.Errorf("openapi-python-client has %d warnings, of MessagePack %d: %s, want at most %d", warned, known, out, known)
	}
	client := harness.Absolute(t, "clients/client.py")
	harness.RunTool(t, dir, []string{"PYTHONPATH=" + dir}, python, "-B", client, s.Address)
}

// TestClients_GeneratedTypeScriptClientWorks has openapi-typescript make types of the document, the compiler hold
// clients/*.ts to them, and these ask the server by openapi-fetch.
func TestClients_GeneratedTypeScriptClientWorks(t *testing.T) {
	t.Parallel()
	modules := harness.Tool(t, "clients/node_modules")
	for part, model := range map[string]string{"paint": "Painter", "speak": "Speaker"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			s := painter(t, model)
			dir := t.TempDir()
			document := fetchOpenAPI(t, s, dir)
			for _, name := range []string{part + ".ts", "node.d.ts", "package.json", "tsconfig.json"} {
				text, err := os.ReadFile(filepath.Join("clients", name))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
				}
				assert.NoError(t, err)
			}
			assert.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			tool := func(name string, arguments ...string) {
				t.Helper()
				harness.RunTool(t, dir, nil, filepath.Join("node_modules", ".bin", name), arguments...)
			}
			tool("openapi-typescript", document, "--output", "openapi.d.ts", "--default-non-nullable", "false")
			tool("tsc")
			harness.RunTool(t, dir, nil, "node", filepath.Join("out", part+".js"), s.Address)
		})
	}
}

func painter(t *testing.T, model string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{
		Model: "clients.py:" + model, Env: []string{"COG_TRAIN_TYPE_STUB=clients.py:train"},
	})
}

// fetchOpenAPI writes the server's document to a file.
func fetchOpenAPI(t *testing.T, s *harness.Server, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "openapi.json")
	harness.WriteFile(t, file, s.Do(http.MethodGet, "/openapi.json", nil).Body)
	return file
}
