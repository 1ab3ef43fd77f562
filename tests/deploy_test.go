package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"pinion/tests/harness"
)

// drainTime is how long a server may take to end by default: --grace and --cancel-grace.
const drainTime = 40 * time.Second

// document is a YAML document, as the deploy folder has them.
type document map[string]any

// at is what stands at a path in it: names of members, and numbers of items.
func (d document) at(t *testing.T, path ...any) any {
	t.Helper()
	var v any = map[string]any(d)
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[fmt.Sprint(step)]
		case []any:
			if i, ok := step.(int); ok && i < len(at) {
				v = at[i]
				continue
			}
			v = nil
		default:
			v = nil
		}
		if v == nil {
			t.Fatalf("there is no %v", path)
		}
	}
	return v
}

func (d document) text(t *testing.T, path ...any) string {
	t.Helper()
	return fmt.Sprint(d.at(t, path...))
}

func (d document) texts(t *testing.T, path ...any) (list []string) {
	t.Helper()
	items, ok := d.at(t, path...).([]any)
	if !ok {
		t.Fatalf("%v is not a list", path)
	}
	for _, item := range items {
		list = append(list, fmt.Sprint(item))
	}
	return list
}

func documentsOf(t *testing.T, file string) (all []document) {
	t.Helper()
	text := readFile(t, file)
	for part := range strings.SplitSeq(text, "\n---\n") {
		var d map[string]any
		if err := yaml.Unmarshal([]byte(part), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

// accepted holds that the command takes these arguments; of a folder it asks nothing here.
func accepted(t *testing.T, args []string) {
	t.Helper()
	if out, err := exec.Command(harness.Binary(t), append(slices.Clone(args), "--help")...).CombinedOutput(); err != nil {
		t.Errorf("pinion %v: %v\n%s", args, err, out)
	}
}

// dockerfile is what a line of the Dockerfile says, by an expression with one group.
func dockerfile(t *testing.T, expression string) string {
	t.Helper()
	text := readFile(t, "../Dockerfile.cuda")
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the Dockerfile has no %s", expression)
	}
	return string(m[1])
}

func TestTheComposeFiles(t *testing.T) {
	t.Parallel()
	plain, gpu := documentsOf(t, "../deploy/compose.yaml")[0], documentsOf(t, "../deploy/compose.gpu.yaml")[0]
	service := []any{"services", "pinion"}
	at := func(more ...any) []any { return append(slices.Clone(service), more...) }
	accepted(t, plain.texts(t, at("command")...))
	accepted(t, gpu.texts(t, at("command")...))
	same(t, "the base", plain.text(t, at("build", "args", "BASE")...),
		"${PINION_BASE:-"+dockerfile(t, `(?m)^ARG BASE=(\S+)$`)+"}")
	if _, err := os.Stat(filepath.Join("../deploy", plain.text(t, at("build", "context")...),
		plain.text(t, at("build", "dockerfile")...))); err != nil {
		t.Error(err)
	}
	port := dockerfile(t, `PORT=(\d+)`)
	same(t, "the ports", plain.texts(t, at("ports")...)[0], "127.0.0.1:"+port+":"+port)
	grace, err := time.ParseDuration(plain.text(t, at("stop_grace_period")...))
	if err != nil || grace <= drainTime {
		t.Errorf("it may take %s to stop, and it takes up to %s: %v", grace, drainTime, err)
	}
	same(t, "the model is at", plain.text(t, at("volumes", 0, "target")...), plain.texts(t, at("command")...)[1])
	if devices := gpu.texts(t, at("deploy", "resources", "reservations", "devices", 0, "capabilities")...); !slices.Equal(
		devices, []string{"gpu"}) {
		t.Errorf("the devices can %q", devices)
	}
}

func TestTheKubernetesManifests(t *testing.T) {
	t.Parallel()
	all := documentsOf(t, "../deploy/kubernetes/pinion.yaml")
	deployment, service := all[0], all[1]
	monitor := documentsOf(t, "../deploy/kubernetes/podmonitor.yaml")[0]
	pod := []any{"spec", "template", "spec"}
	in := func(more ...any) []any { return append(append(slices.Clone(pod), "containers", 0), more...) }

	accepted(t, deployment.texts(t, in("args")...))
	same(t, "the port", deployment.text(t, in("ports", 0, "containerPort")...), dockerfile(t, `PORT=(\d+)`))
	same(t, "the user", deployment.text(t, append(slices.Clone(pod), "securityContext", "runAsUser")...),
		dockerfile(t, `--uid (\d+)`))
	grace, _ := strconv.Atoi(deployment.text(t, append(slices.Clone(pod), "terminationGracePeriodSeconds")...))
	pause, _ := strconv.Atoi(deployment.text(t, in("lifecycle", "preStop", "sleep", "seconds")...))
	if time.Duration(grace-pause)*time.Second <= drainTime {
		t.Errorf("it has %d s to end, of which it sleeps for %d", grace, pause)
	}
	labels := deployment.text(t, "spec", "template", "metadata", "labels")
	for what, selector := range map[string]string{
		"the deployment": deployment.text(t, "spec", "selector", "matchLabels"),
		"the service":    service.text(t, "spec", "selector"),
		"the monitor":    monitor.text(t, "spec", "selector", "matchLabels"),
	} {
		same(t, what+" selects", selector, labels)
	}
	name := deployment.text(t, in("ports", 0, "name")...)
	paths := []string{monitor.text(t, "spec", "podMetricsEndpoints", 0, "path")}
	ports := []string{
		service.text(t, "spec", "ports", 0, "targetPort"),
		monitor.text(t, "spec", "podMetricsEndpoints", 0, "port"),
	}
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		paths = append(paths, deployment.text(t, in(probe, "httpGet", "path")...))
		ports = append(ports, deployment.text(t, in(probe, "httpGet", "port")...))
	}
	for _, port := range ports {
		same(t, "there is no port", port, name)
	}
	volumes := map[string]bool{}
	for i := range deployment.at(t, append(slices.Clone(pod), "volumes")...).([]any) {
		volumes[deployment.text(t, append(slices.Clone(pod), "volumes", i, "name")...)] = true
	}
	for i := range deployment.at(t, in("volumeMounts")...).([]any) {
		if mount := deployment.text(t, in("volumeMounts", i, "name")...); !volumes[mount] {
			t.Errorf("there is no volume %s", mount)
		}
	}
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	for _, path := range paths {
		wantCode(t, path, s.Do("GET", path, nil), 200)
	}
}

func TestTheSystemdUnit(t *testing.T) {
	t.Parallel()
	text := readFile(t, "../deploy/systemd/pinion.service")
	said := func(key string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the unit has no %s", key)
		}
		return string(m[1])
	}
	start := strings.Fields(said("ExecStart"))
	accepted(t, start[1:])
	if said("KillMode") != "mixed" || said("ExecReload") != "/bin/kill -HUP $MAINPID" {
		t.Error("SIGTERM and SIGHUP are for the front, and for it alone")
	}
	if seconds, err := strconv.Atoi(said("TimeoutStopSec")); err != nil ||
		time.Duration(seconds)*time.Second <= drainTime {
		t.Errorf("it has %d s to stop, and takes up to %s: %v", seconds, drainTime, err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	unit := filepath.Join(t.TempDir(), "pinion.service")
	writeFile(t, unit, strings.Replace(text, start[0], harness.Binary(t), 1))
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil ||
		len(out) > 0 {
		t.Errorf("systemd says: %v\n%s", err, out)
	}
}
