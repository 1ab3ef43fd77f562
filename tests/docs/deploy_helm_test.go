package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/harness"
)

const helmCommand = "helm.sh/helm/v3/cmd/helm@v3.19.4"

// installGo compiles a command of another module.
func installGo(t *testing.T, command string) string {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(command), "@")
	tool := filepath.Join(t.TempDir(), name)
	install := exec.Command("go", "install", command)
	install.Env = append(os.Environ(), "GOBIN="+filepath.Dir(tool))
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("%s cannot be had: %v\n%s", command, err, out)
	}
	return tool
}

func TestHelmChart_RendersWhatKubernetesTakes(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	helm, validator := installGo(t, helmCommand), installGo(t, kubectlValidate)
	run := func(args ...string) (string, error) {
		out, err := exec.Command(helm, args...).CombinedOutput()
		return string(out), err
	}
	const chart = "../deploy/helm/pinion"
	if out, err := run("lint", chart, "--strict", "--kube-version", "1.31", "--set", "image=example.com/model:1"); err != nil {
		t.Errorf("lint: %v\n%s", err, out)
	}
	for name, values := range map[string][]string{
		"least": nil,
		"all": {
			"gpus=2", "tokenSecret=tokens", "autoscaling.enabled=true", "env[0].name=A", "env[0].value=b",
			"volumes[0].name=weights", "volumes[0].emptyDir.medium=Memory", "volumeMounts[0].name=weights",
			"volumeMounts[0].mountPath=/src/weights", "nodeSelector.kind=gpu", "imagePullSecrets[0].name=registry",
		},
	} {
		args := []string{"template", "my-model", chart, "--kube-version", "1.31", "--set", "image=example.com/model:1"}
		for _, value := range values {
			args = append(args, "--set", value)
		}
		out, err := exec.Command(helm, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := filepath.Join(t.TempDir(), name+".yaml")
		harness.WriteFile(t, path, string(out))
		if out, err := exec.Command(validator, path).CombinedOutput(); err != nil || !strings.Contains(string(out), "OK") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, manifest := range harness.ReadManifests(t, path) {
			if manifest.Text(t, "kind") == "Deployment" {
				accepted(t, manifest.Texts(t, "spec", "template", "spec", "containers", 0, "args"))
			}
		}
	}
	for _, c := range []struct{ value, want string }{
		{"replica=2", "'replica' not allowed"},
		{"service.port=70000", "service/port"},
		{"image=", "image"},
	} {
		out, err := run("template", "my-model", chart, "--kube-version", "1.31", "--set", "image=x", "--set", c.value)
		if err == nil || !strings.Contains(out, c.want) {
			t.Errorf("--set %s: got %v, want %q:\n%s", c.value, err, c.want, out)
		}
	}
}

func TestKEDAPrometheus_PageShowsTheManifest(t *testing.T) {
	t.Parallel()
	page := harness.ReadFile(t, "../docs/how-to/autoscaling.md")
	shown := regexp.MustCompile(`(?m)^    apiVersion: keda(?:.*\n)(?:    .*\n)+`).FindString(page)
	_, manifest, _ := strings.Cut(harness.ReadFile(t, "../deploy/kubernetes/keda-prometheus.yaml"), "\n")
	harness.Equal(t, "the manifest of the page", regexp.MustCompile(`(?m)^    `).ReplaceAllString(shown, ""), manifest)
	metrics := harness.ReadFile(t, "../docs/reference/metrics.md")
	for _, name := range regexp.MustCompile(`pinion_\w+`).FindAllString(page, -1) {
		if !strings.Contains(metrics, "`"+name+"`") {
			t.Errorf("docs/how-to/autoscaling.md names %s, which is not a metric", name)
		}
	}
}
