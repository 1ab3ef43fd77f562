package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
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
	validate, helm := manifestValidator(t), installGo(t, helmCommand)
	run := func(args ...string) (string, error) {
		out, err := exec.Command(helm, args...).CombinedOutput()
		return string(out), err
	}
	const chart = "../deploy/helm/pinion"
	out, err := run("lint", chart, "--strict", "--kube-version", "1.31", "--set", "image=example.com/model:1")
	assert.True(t, err == nil, "lint: got %v, want no error\n%s", err, out)
	for _, c := range []struct {
		name, release string
		set           []string
		want          []string // lines of the manifests
	}{
		{name: "least", release: "my-model"},
		{name: "all", release: "my-model", set: []string{
			"gpus=2", "tokenSecret=tokens", "autoscaling.enabled=true", "env[0].name=A", "env[0].value=b",
			"volumes[0].name=weights", "volumes[0].emptyDir.medium=Memory", "volumeMounts[0].name=weights",
			"volumeMounts[0].mountPath=/src/weights", "nodeSelector.kind=gpu", "imagePullSecrets[0].name=registry",
			"runtimeClassName=nvidia", "strategy.type=Recreate", "env[1].name=B", "env[1].valueFrom.secretKeyRef.name=c",
			"env[1].valueFrom.secretKeyRef.key=d",
		}, want: []string{`runtimeClassName: "nvidia"`, "type: Recreate"}},
		{name: "numbers", release: "123", set: []string{
			"env[0].name=A", "env[0].value=1", "env[1].name=B", "env[1].value=true", "nodeSelector.a=1",
			"service.annotations.a=true", "args={--queue,32,--workers,2}",
		}, want: []string{
			`app.kubernetes.io/instance: "123"`, "name: pinion-123", `value: "1"`, `value: "true"`, `"a": "1"`, `"a": "true"`,
			`- "32"`,
		}},
		{name: "release with dots", release: "1.5", want: []string{`app.kubernetes.io/instance: "1.5"`, "name: pinion-1-5"}},
		{name: "large number", release: "m", set: []string{"graceSeconds=10000000"}, want: []string{"- --grace=10000000s"}},
		{name: "nothing", release: "m", set: []string{
			"resources=null", "args=null", "env=null", "volumes=null", "nodeSelector=null", "strategy=null", "gpus=null",
		}},
		{name: "only GPUs", release: "m", set: []string{"resources=null", "gpus=1"}, want: []string{"nvidia.com/gpu: 1"}},
		{name: "update in place", release: "m", set: []string{
			"strategy.rollingUpdate.maxSurge=0", "strategy.rollingUpdate.maxUnavailable=1",
		}, want: []string{"maxSurge: 0"}},
		{name: "queues of models", release: "m", set: []string{
			"queueScaling.models[0].model=ocr", "queueScaling.models[1].model=embed",
			"queueScaling.models[1].deployment=embed-pinion", "queueScaling.models[1].slots=4",
			"queueScaling.models[1].versions={1,2b}",
		}, want: []string{
			"kind: ScaledObject", `name: "m-pinion"`, `name: "embed-pinion"`, "stream: PINION_JOBS_ocr",
			"formula: t0 + t1 + t2", "formula: t0 + t1 + t2 + t3 + t4 + t5 + t6 + t7 + t8", `consumer: "std-at-2b"`,
			`target: "4"`, "kind: PodDisruptionBudget",
		}},
	} {
		args := []string{"template", c.release, chart, "--kube-version", "1.31", "--set", "image=example.com/model:1"}
		for _, value := range c.set {
			args = append(args, "--set", value)
		}
		out, err := exec.Command(helm, args...).Output()
		assert.NoError(t, err, c.name)
		for _, line := range c.want {
			assert.True(t, regexp.MustCompile(`(?m)^ *`+regexp.QuoteMeta(line)+`$`).Match(out),
				"%s: got no line %s in, want a match of %s:\n%s", c.name, line, `(?m)^ *`+regexp.QuoteMeta(line)+`$`, out)
		}
		path := filepath.Join(t.TempDir(), "manifests.yaml")
		documents := slices.DeleteFunc(strings.Split(string(out), "\n---\n"), func(text string) bool {
			return strings.Contains(text, "apiVersion: keda.sh") // the validator does not know its schema
		})
		harness.WriteFile(t, path, strings.Join(documents, "\n---\n"))
		if out, err := validate(path); err != nil || !strings.Contains(out, "OK") {
			t.Errorf("%s: %v, want it to contain \"OK\"\n%s", c.name, err, out)
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
		{"env[0].name=1", "env/0/name"},
		{"env[0].name=A,env[0].valu=1", "'valu' not allowed"},
		{"args[0].a=1", "args/0"},
		{"graceSeconds=null", "missing property 'graceSeconds'"},
		{"autoscaling=null", "missing property 'autoscaling'"},
		{"service.port=null", "missing property 'port'"},
		{"resources.limits=1", "resources/limits"},
		{"tolerations[0].value=1", "tolerations/0/value"},
		{"strategy.type=Slow", "strategy/type"},
		{"queueScaling.models[0].slots=1", "missing property 'model'"},
		{"queueScaling.models[0].model=a b", "model"},
		{"queueScaling.models[0].model=a,queueScaling.models[0].version=1", "'version' not allowed"},
		{"queueScaling.models[0].model=a,queueScaling.models[1].model=b", "a and b scale the deployment my-model-pinion"},
		{"queueScaling.models[0].model=a,autoscaling.enabled=true", "both scale the deployment my-model-pinion"},
		{"queueScaling.models[0].model=a,queueScaling.models[0].minReplicas=21", "is 21, more than maxReplicas, 20"},
		{"autoscaling.enabled=true,autoscaling.minReplicas=5", "minReplicas is 5, more than autoscaling.maxReplicas, 4"},
	} {
		out, err := run("template", "my-model", chart, "--kube-version", "1.31", "--set", "image=x", "--set", c.value)
		assert.True(t, err != nil && strings.Contains(out, c.want),
			"--set %s: got %v, want %q:\n%s", c.value, err, c.want, out)
	}
}

func TestKEDAPrometheus_PageShowsTheManifest(t *testing.T) {
	t.Parallel()
	page := harness.ReadFile(t, "../docs/how-to/autoscaling.md")
	shown := regexp.MustCompile(`(?m)^    apiVersion: keda(?:.*\n)(?:    .*\n)+`).FindString(page)
	_, manifest, _ := strings.Cut(harness.ReadFile(t, "../deploy/kubernetes/keda-prometheus.yaml"), "\n")
	assert.Equal(t, "the manifest of the page", regexp.MustCompile(`(?m)^    `).ReplaceAllString(shown, ""), manifest)
	metrics := harness.ReadFile(t, "../docs/reference/metrics.md")
	for _, name := range regexp.MustCompile(`pinion_\w+`).FindAllString(page, -1) {
		assert.Contains(t, "docs/how-to/autoscaling.md names "+name+": which is not a metric", metrics, "`"+name+"`")
	}
}
