package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// manifestValidator returns a function that checks a file of manifests, as an API server does, with the schemas of
// Kubernetes, KEDA and the Prometheus Operator, and returns what it prints.
func manifestValidator(t *testing.T) func(file string) (string, error) {
	t.Helper()
	tool := harness.Tool(t, "kubernetes/kubectl-validate", "kubectl-validate")
	return func(file string) (string, error) {
		out, err := exec.Command(tool, file, "--version", "1.30", "--local-crds",
			filepath.Join(filepath.Dir(tool), "crds")).CombinedOutput()
		return string(out), err
	}
}

// TestDeploySchemas_KubernetesManifestsFitTheirSchemas, as an API server checks them. A manifest with a wrong field
// shows that it does.
func TestDeploySchemas_KubernetesManifestsFitTheirSchemas(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	validate := manifestValidator(t)
	manifests, err := filepath.Glob("../deploy/kubernetes/*.yaml")
	assert.TrueNow(t, err == nil && len(manifests) >= 2, "only %q: %v, want at least 2", manifests, err)
	field := regexp.MustCompile(`(?m)^(  +)(containers|selector|scaleTargetRef):`)
	for _, path := range manifests {
		out, err := validate(path)
		assert.True(t, err == nil && strings.Contains(out, "OK"), "%s: %v, want it to contain \"OK\"\n%s", path, err, out)
		text := harness.ReadFile(t, path)
		broken := filepath.Join(t.TempDir(), "broken.yaml")
		harness.WriteFile(t, broken, field.ReplaceAllString(text, "${1}wrong:"))
		if out, err := validate(broken); err == nil || !strings.Contains(out, "wrong") {
			t.Errorf("%s passes with a field that Kubernetes does not have: %v, want an error and a text with \"wrong\"\n%s",
				path, err, out)
		}
	}
}
