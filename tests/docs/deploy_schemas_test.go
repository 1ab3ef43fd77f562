package docs

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// A validator with the schemas of Kubernetes, and the module that publishes that of the Prometheus Operator's objects.
const (
	kubectlValidate    = "sigs.k8s.io/kubectl-validate@v0.0.4"
	prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	definitions        = "example/prometheus-operator-crd"
)

// TestDeploySchemas_KubernetesManifestsFitTheirSchemas, as an API server checks them. A manifest with a wrong field
// shows that it does.
func TestDeploySchemas_KubernetesManifestsFitTheirSchemas(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	out, err := exec.Command("go", "mod", "download", "-json", prometheusOperator).Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil {
		t.Skipf("the schemas cannot be downloaded: %v %s", err, out)
	}
	tool := installGo(t, kubectlValidate)
	validate := func(path string) (string, error) {
		out, err := exec.Command(tool, path, "--local-crds", filepath.Join(module.Dir, definitions)).CombinedOutput()
		return string(out), err
	}
	manifests, err := filepath.Glob("../deploy/kubernetes/*.yaml")
	if err != nil || len(manifests) < 2 {
		t.Fatalf("only %q: %v, want at least 2", manifests, err)
	}
	field := regexp.MustCompile(`(?m)^(  +)(containers|selector):`)
	for _, path := range manifests {
		if strings.Contains(path, "keda") {
			continue // its schemas are checked in ./build.sh cluster
		}
		if out, err := validate(path); err != nil || !strings.Contains(out, "OK") {
			t.Errorf("%s: %v, want it to contain \"OK\"\n%s", path, err, out)
		}
		text := harness.ReadFile(t, path)
		broken := filepath.Join(t.TempDir(), "broken.yaml")
		harness.WriteFile(t, broken, field.ReplaceAllString(text, "${1}wrong:"))
		if out, err := validate(broken); err == nil || !strings.Contains(out, "wrong") {
			t.Errorf("%s passes with a field that Kubernetes does not have: %v, want an error and a text with \"wrong\"\n%s",
				path, err, out)
		}
	}
}
