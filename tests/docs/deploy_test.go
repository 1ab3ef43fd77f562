package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// drainTime is how long a server may take to end by default: --grace and --cancel-grace.
const drainTime = 40 * time.Second

// accepted holds that the command takes these arguments; of a folder it asks nothing here.
func accepted(t *testing.T, args []string) {
	t.Helper()
	out, err := exec.Command(harness.Binary(t), append(slices.Clone(args), "--help")...).CombinedOutput()
	assert.True(t, err == nil, "pinion %v: got %v, want no error\n%s", args, err, out)
}

// dockerfile is what a line of the Dockerfile says, by an expression with one group.
func dockerfile(t *testing.T, expression string) string {
	t.Helper()
	text := harness.ReadFile(t, "../Dockerfile.cuda")
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	assert.TrueNow(t, m != nil, "the Dockerfile has no %s", expression)
	return string(m[1])
}

func TestDeploy_ComposeFiles(t *testing.T) {
	t.Parallel()
	plain, gpu := harness.ReadManifests(t, "../deploy/compose.yaml")[0],
		harness.ReadManifests(t, "../deploy/compose.gpu.yaml")[0]
	service := []any{"services", "pinion"}
	at := func(more ...any) []any { return append(slices.Clone(service), more...) }
	accepted(t, plain.Texts(t, at("command")...))
	accepted(t, gpu.Texts(t, at("command")...))
	assert.Equal(t, "the base", plain.Text(t, at("build", "args", "BASE")...),
		"${PINION_BASE:-"+dockerfile(t, `(?m)^ARG BASE=(\S+)$`)+"}")
	if _, err := os.Stat(filepath.Join("../deploy", plain.Text(t, at("build", "context")...),
		plain.Text(t, at("build", "dockerfile")...))); err != nil {
		t.Error(err)
	}
	port := dockerfile(t, `PORT=(\d+)`)
	assert.Equal(t, "the ports", plain.Texts(t, at("ports")...)[0], "127.0.0.1:"+port+":"+port)
	grace, err := time.ParseDuration(plain.Text(t, at("stop_grace_period")...))
	assert.True(t, err == nil && grace > drainTime,
		"it may take %s to stop, and it takes up to %s: %v, want more than %v", grace, drainTime, err, drainTime)
	assert.Equal(t, "the model is at", plain.Text(t, at("volumes", 0, "target")...), plain.Texts(t, at("command")...)[1])
	assert.EqualSlices(t, "the devices",
		gpu.Texts(t, at("deploy", "resources", "reservations", "devices", 0, "capabilities")...), []string{"gpu"})
}

func TestDeploy_KubernetesManifests(t *testing.T) {
	t.Parallel()
	objects := harness.ReadManifests(t, "../deploy/kubernetes/pinion.yaml")
	deployment, service := objects[0], objects[1]
	monitor := harness.ReadManifests(t, "../deploy/kubernetes/podmonitor.yaml")[0]
	pod := []any{"spec", "template", "spec"}
	in := func(more ...any) []any { return append(append(slices.Clone(pod), "containers", 0), more...) }

	accepted(t, deployment.Texts(t, in("args")...))
	assert.Equal(t, "the port", deployment.Text(t, in("ports", 0, "containerPort")...), dockerfile(t, `PORT=(\d+)`))
	assert.Equal(t, "the user", deployment.Text(t, append(slices.Clone(pod), "securityContext", "runAsUser")...),
		dockerfile(t, `--uid (\d+)`))
	grace, _ := strconv.Atoi(deployment.Text(t, append(slices.Clone(pod), "terminationGracePeriodSeconds")...))
	pause, _ := strconv.Atoi(deployment.Text(t, in("lifecycle", "preStop", "sleep", "seconds")...))
	assert.True(t, time.Duration(grace-pause)*time.Second > drainTime,
		"it has %d s to end, of which it sleeps for %d, want more than %v", grace, pause, drainTime)
	labels := deployment.Text(t, "spec", "template", "metadata", "labels")
	for what, selector := range map[string]string{
		"the deployment": deployment.Text(t, "spec", "selector", "matchLabels"),
		"the service":    service.Text(t, "spec", "selector"),
		"the monitor":    monitor.Text(t, "spec", "selector", "matchLabels"),
	} {
		assert.Equal(t, what+" selects", selector, labels)
	}
	name := deployment.Text(t, in("ports", 0, "name")...)
	paths := []string{monitor.Text(t, "spec", "podMetricsEndpoints", 0, "path")}
	ports := []string{
		service.Text(t, "spec", "ports", 0, "targetPort"),
		monitor.Text(t, "spec", "podMetricsEndpoints", 0, "port"),
	}
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		paths = append(paths, deployment.Text(t, in(probe, "httpGet", "path")...))
		ports = append(ports, deployment.Text(t, in(probe, "httpGet", "port")...))
	}
	for _, port := range ports {
		assert.Equal(t, "there is no port", port, name)
	}
	volumes := map[string]bool{}
	for i := range deployment.At(t, append(slices.Clone(pod), "volumes")...).([]any) {
		volumes[deployment.Text(t, append(slices.Clone(pod), "volumes", i, "name")...)] = true
	}
	for i := range deployment.At(t, in("volumeMounts")...).([]any) {
		mount := deployment.Text(t, in("volumeMounts", i, "name")...)
		assert.True(t, volumes[mount], "there is no volume %s, want volumes[mount] true", mount)
	}
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	for _, path := range paths {
		harness.WantCode(t, path, s.Do("GET", path, nil), 200)
	}
}

func TestDeploy_SystemdUnit(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../deploy/systemd/pinion.service")
	said := func(key string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(text)
		assert.TrueNow(t, m != nil, "the unit has no %s", key)
		return string(m[1])
	}
	start := strings.Fields(said("ExecStart"))
	accepted(t, start[1:])
	assert.Equal(t, `said("KillMode")`, said("KillMode"), "mixed")
	assert.Equal(t, `said("ExecReload")`, said("ExecReload"), "/bin/kill -HUP $MAINPID")
	seconds, err := strconv.Atoi(said("TimeoutStopSec"))
	assert.True(t, err == nil && time.Duration(seconds)*time.Second > drainTime,
		"it has %d s to stop, and takes up to %s: %v, want more than %v", seconds, drainTime, err, drainTime)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	unit := filepath.Join(t.TempDir(), "pinion.service")
	harness.WriteFile(t, unit, strings.ReplaceAll(text, start[0], harness.Binary(t)))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	assert.True(t, err == nil && len(out) == 0, "systemd says: %v, want none\n%s", err, out)
}
