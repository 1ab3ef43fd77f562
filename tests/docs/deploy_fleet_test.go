package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v4"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const fleetFolder = "../deploy/kubernetes/fleet/"

// fleetObjects are the objects of the fleet's manifests, by kind and name.
func fleetObjects(t *testing.T) map[string]harness.Manifest {
	t.Helper()
	objects := map[string]harness.Manifest{}
	for _, file := range harness.ReadManifests(t, fleetFolder+"kustomization.yaml")[0].Texts(t, "resources") {
		for _, d := range harness.ReadManifests(t, fleetFolder+file) {
			objects[d.Text(t, "kind")+" "+d.Text(t, "metadata", "name")] = d
		}
	}
	return objects
}

// TestDeployFleet_FleetScalesOnItsQueue: KEDA asks for the consumers that a server with the manifest's arguments makes.
func TestDeployFleet_FleetScalesOnItsQueue(t *testing.T) {
	t.Parallel()
	objects := fleetObjects(t)
	container := []any{"spec", "template", "spec", "containers", 0}
	args := objects["Deployment pinion"].Texts(t, append(slices.Clone(container), "args")...)
	accepted(t, args)
	gateway := objects["Deployment pinion-gateway"].Texts(t, append(slices.Clone(container), "args")...)
	accepted(t, gateway)
	assert.EqualSlices(t, "servers of the gateway", gateway[1:], args[2:])
	nats := harness.StartNATSOf(t, "my-model")
	// there is one NATS here
	args = slices.DeleteFunc(args[2:], func(arg string) bool { return arg == "--nats-replicas" || arg == "3" })
	// KEDA asks before the first server runs
	harness.StartGateway(t, nats.URL, "--model", "my-model")
	var list struct{ Lanes []struct{ Name string } }
	harness.FromJSON(t, harness.CLI{}.Good(t, "jobs", "list", "--json", "--nats", nats.URL, "--model",
		args[slices.Index(args, "--model")+1]), &list)
	var have, want []string
	for _, lane := range list.Lanes {
		have = append(have, lane.Name)
	}
	scaled := objects["ScaledObject pinion"]
	formula := scaled.Text(t, "spec", "advanced", "scalingModifiers", "formula")
	for i := range scaled.At(t, "spec", "triggers").([]any) {
		assert.Equal(t, "a trigger asks for the stream", scaled.Text(t, "spec", "triggers", i, "metadata", "stream"),
			"PINION_JOBS_my-model")
		want = append(want, scaled.Text(t, "spec", "triggers", i, "metadata", "consumer"))
		if name := scaled.Text(t, "spec", "triggers", i, "name"); !slices.Contains(strings.Fields(formula), name) {
			t.Errorf("the formula %q leaves out %s, want it there", formula, name)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	assert.EqualSlices(t, "KEDA asks for the consumers", have, want)
	target := scaled.Text(t, "spec", "scaleTargetRef", "name")
	assert.True(t, objects["Deployment "+target] != nil, "there is no deployment %s", target)
	pod := objects["Deployment pinion"].Text(t, "spec", "template", "metadata", "labels")
	for what, selector := range map[string]string{
		"the service": objects["Service pinion"].Text(t, "spec", "selector"),
		"the budget":  objects["PodDisruptionBudget pinion"].Text(t, "spec", "selector", "matchLabels"),
		"the monitor": labelOf(objects["PodMonitor pinion"].Texts(t, "spec", "selector", "matchExpressions", 0, "values")[0]),
		"the network policy": objects["NetworkPolicy nats"].Text(t, "spec", "ingress", 0, "from", 0, "podSelector",
			"matchLabels"),
	} {
		assert.Equal(t, what+" selects", selector, pod)
	}
}

// TestDeployFleet_WhatKEDAIsMisledBy: a NATS that does not lead the consumer, a lag that counts running jobs too, and
// pods that are ended while they work.
func TestDeployFleet_WhatKEDAIsMisledBy(t *testing.T) {
	t.Parallel()
	objects := fleetObjects(t)
	scaled := objects["ScaledObject pinion"]
	target := scaled.Text(t, "spec", "advanced", "scalingModifiers", "target")
	for i := range scaled.At(t, "spec", "triggers").([]any) {
		at := scaled.Text(t, "spec", "triggers", i, "metadata", "natsServerMonitoringEndpoint")
		name, rest, _ := strings.Cut(at, ".")
		service := objects["Service "+name]
		assert.True(t, service != nil && service.Text(t, "spec", "clusterIP") == "None" && strings.HasSuffix(rest, ":8222"),
			"KEDA asks %s, want each of the servers of NATS", at)
		assert.Equal(t, "the lag is divided by", scaled.Text(t, "spec", "triggers", i, "metadata", "lagThreshold"), target)
	}
	nats := harness.StartNATSOf(t, "my-model")
	args := objects["Deployment pinion"].Texts(t, "spec", "template", "spec", "containers", 0, "args")
	args = slices.DeleteFunc(args[2:], func(arg string) bool { return arg == "--nats-replicas" || arg == "3" })
	s := harness.Ready(t, harness.Options{Model: "fleet.py", Args: append(args, "--nats", nats.URL)})
	if slots := len(s.Health().Workers); fmt.Sprint(slots) != target { // each of them has one
		t.Errorf("a pod has %d slots, and the jobs are divided by %s, want the same", slots, target)
	}
	var grace, wait int
	pod := []any{"spec", "template", "spec"}
	fmt.Sscan(objects["Deployment pinion"].Text(t, append(pod, "terminationGracePeriodSeconds")...), &grace)
	fmt.Sscan(objects["Deployment pinion"].Text(t,
		append(pod, "containers", 0, "lifecycle", "preStop", "sleep", "seconds")...), &wait)
	const ends = 30 + 10 // --grace and --cancel-grace
	assert.True(t, grace > wait+ends,
		"a pod has %d s, and takes %d s to give its jobs back, want more than %d", grace, wait+ends, wait+ends)
}

// labelOf is the label of pods of that name, as documents print it.
func labelOf(name string) string { return fmt.Sprint(map[string]any{"app.kubernetes.io/name": name}) }

// TestDeployFleet_NATSOfFleet: NATS takes the configuration, with the user that servers come as.
func TestDeployFleet_NATSOfFleet(t *testing.T) {
	t.Setenv("POD_NAME", "nats-0")
	t.Setenv("NATS_PASSWORD", "the-password")
	objects := fleetObjects(t)
	file := filepath.Join(t.TempDir(), "nats.conf")
	harness.WriteFile(t, file, objects["ConfigMap nats"].Text(t, "data", "nats.conf"))
	o := assert.Must(server.ProcessConfigFile(file))(t)
	assert.True(t, o.ServerName == "nats-0" && o.Username == "pinion" && o.Password == "the-password" && o.JetStream &&
		len(o.Routes) == 3 && o.Port == 4222 && o.HTTPPort == 8222,
		"got %+v, want three routes, JetStream, a user, and the ports of NATS", o)
	url := objects["Deployment pinion"].Text(t, "spec", "template", "spec", "containers", 0, "env", 1, "value")
	assert.Equal(t, "servers ask for", url, "nats://pinion:$(NATS_PASSWORD)@nats:4222")
	image := objects["StatefulSet nats"].Text(t, "spec", "template", "spec", "containers", 0, "image")
	text, err := os.ReadFile("../deploy/compose.fleet.yaml")
	assert.True(t, err == nil && strings.Contains(string(text), "image: "+image+"\n") &&
		strings.HasSuffix(image, ":"+server.VERSION),
		"Kubernetes has %s, the tests %s: %v, want the same there and in the compose file", image, server.VERSION, err)
}

// TestDeployFleet_FleetsManifestsAreValid: each against the schema of its kind, without a cluster.
func TestDeployFleet_FleetsManifestsAreValid(t *testing.T) {
	t.Parallel()
	check := manifestValidator(t)
	for _, file := range harness.ReadManifests(t, fleetFolder+"kustomization.yaml")[0].Texts(t, "resources") {
		out, err := check(fleetFolder + file)
		assert.True(t, err == nil, "%s: got %v, want no error\n%s", file, err, out)
		text := harness.ReadFile(t, fleetFolder+file)
		broken := filepath.Join(t.TempDir(), file)
		harness.WriteFile(t, broken, strings.Replace(text, "\nspec:\n", "\nspec:\n  noSuchField: 1\n", 1))
		if out, err := check(broken); err == nil || !strings.Contains(out, "noSuchField") {
			t.Errorf("%s with an unknown field: %v, want an error and a text with \"noSuchField\"\n%s", file, err, out)
		}
	}
}

// TestDeployFleet_FleetHasAlerts: the rules of the Prometheus Operator are those of deploy/observability/alerts.yaml,
// letter by letter, and Prometheus takes them. Its pod monitors give the name of the job that they ask for.
// PINION_UPDATE_GOLDEN=1 writes the file.
func TestDeployFleet_FleetHasAlerts(t *testing.T) {
	t.Parallel()
	source := harness.ReadFile(t, filepath.Join(harness.ObservabilityFolder, "alerts.yaml"))
	_, groups, _ := strings.Cut(source, "\ngroups:\n")
	file := fleetFolder + "alerts.yaml"
	text := harness.ReadFile(t, file)
	head, _, found := strings.Cut(text, "\n  groups:\n")
	want := head + "\n  groups:\n" +
		strings.TrimRight(regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(groups, "  $1"), "\n") + "\n"
	if os.Getenv("PINION_UPDATE_GOLDEN") == "1" {
		harness.WriteFile(t, file, want)
	} else if !found || text != want {
		t.Errorf("%s has other rules, want those of alerts.yaml: PINION_UPDATE_GOLDEN=1 takes them", file)
	}
	rules := assert.Must(yaml.Marshal(fleetObjects(t)["PrometheusRule pinion"].At(t, "spec")))(t)
	tested := assert.Must(os.ReadFile(filepath.Join(harness.ObservabilityFolder, "alerts_test.yaml")))(t)
	folder := t.TempDir()
	for name, text := range map[string][]byte{"alerts.yaml": rules, "alerts_test.yaml": tested} {
		harness.WriteFile(t, filepath.Join(folder, name), text)
	}
	for _, monitor := range []harness.Manifest{
		fleetObjects(t)["PodMonitor pinion"],
		harness.ReadManifests(t, "../deploy/kubernetes/podmonitor.yaml")[0],
	} {
		assert.Equal(t, "the job of a pod is its label", monitor.Text(t, "spec", "jobLabel"), "app.kubernetes.io/name")
	}
	jobs := fleetObjects(t)["PodMonitor pinion"].Texts(t, "spec", "selector", "matchExpressions", 0, "values")
	assert.True(t, strings.Contains(source, `up{job=~"`+strings.Join(jobs, "|")+`"}`),
		"PinionDown does not ask for the jobs %q: got %.300q, want it to contain %q", jobs, source,
		`up{job=~"`+strings.Join(jobs, "|")+`"}`)
	harness.Promtool(t, nil, "check", "rules", filepath.Join(folder, "alerts.yaml"))
	harness.Promtool(t, nil, "test", "rules", filepath.Join(folder, "alerts_test.yaml"))
}

// TestDeployFleet_FleetsComposeFile: its servers have the same command, and differ in their ports.
func TestDeployFleet_FleetsComposeFile(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../deploy/compose.fleet.yaml")
	file := filepath.Join(t.TempDir(), "compose.yaml")
	// a tag of compose's
	harness.WriteFile(t, file, strings.ReplaceAll(text, "!override", ""))
	d := harness.ReadManifests(t, file)[0]
	first, second := d.Texts(t, "services", "pinion", "command"), d.Texts(t, "services", "second", "command")
	accepted(t, first)
	accepted(t, d.Texts(t, "services", "gateway", "command"))
	assert.True(t, slices.Equal(first, second) && slices.Contains(first, "nats://nats:4222"),
		"the commands are %q and %q, want the same, with nats://nats:4222", first, second)
	base := harness.ReadManifests(t, "../deploy/compose.yaml")[0]
	if base.At(t, "services", d.Text(t, "services", "second", "extends", "service")) == nil ||
		slices.Equal(base.Texts(t, "services", "pinion", "ports"), d.Texts(t, "services", "second", "ports")) {
		t.Errorf("the second server is the same one, want At non-nil and Texts not %q",
			d.Texts(t, "services", "second", "ports"))
	}
}
