package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const (
	deployments = "/apis/apps/v1/namespaces/default/deployments/"
	budgets     = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/"
	scaled      = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects/pinion"
	autoscaler  = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/keda-hpa-pinion"
)

// A cluster has the manifests in it.
type cluster struct {
	*controlPlane
	nodes *kubelet
	gate  *os.File // models wait while the test holds its lock
}

// TestCluster_ManifestsInCluster goes the way of docs/how-to/scale-out.md, and looks how the fleet scales, drains and
// ends.
func TestCluster_ManifestsInCluster(t *testing.T) {
	if os.Getenv(envPrograms) == "" {
		t.Skip("./build.sh cluster builds a control plane and runs it")
	}
	c := &cluster{controlPlane: startControlPlane(t)}
	c.startKEDA()
	c.makeGate()
	c.startNodes()
	c.deploy()
	ids := c.backlog(map[string]int{"hi": 2, "std": 2, "lo": 2})
	c.scalesTo(len(ids))
	c.eachRuns(ids)
	c.evict(ids)
	c.open()
	c.eachSucceeds(ids)
	c.scalesDown()
	c.open()
	c.eachSucceeds(c.backlog(map[string]int{"std": 1}))
	c.scalesTo(0)
	c.deploySingle()
	c.nothingWentWrong(len(ids))
}

func (c *cluster) makeGate() {
	c.t.Helper()
	gate := assert.Must(os.Create(filepath.Join(c.dir, "gate")))(c.t)
	c.t.Cleanup(func() { gate.Close() })
	c.gate = gate
	assert.NoError(c.t, syscall.Flock(int(gate.Fd()), syscall.LOCK_EX))
}

// open lets all predictions end.
func (c *cluster) open() {
	c.t.Helper()
	assert.NoError(c.t, syscall.Flock(int(c.gate.Fd()), syscall.LOCK_UN))
}

// startNodes starts three, with a disk on each for NATS.
func (c *cluster) startNodes() {
	c.t.Helper()
	model := assert.Must(filepath.Abs("model"))(c.t)
	pinion, nats := harness.Binary(c.t), program(c.t, "nats-server")
	served := func(ip string) image {
		return image{
			argv: []string{pinion}, files: map[string]string{"/src": model},
			env: []string{"PINION_HOST=" + ip, "PINION_PYTHON=" + os.Getenv("PINION_PYTHON"), "GATE=" + c.gate.Name()},
		}
	}
	c.nodes = startKubelet(c.t, c.api, 3, map[string]func(ip string) image{
		"registry.example.com/my-model": served, "registry.example.com/chat": served,
		"docker.io/library/nats": func(ip string) image { // as its manifest says, but at the pod's address
			return image{argv: []string{nats}, after: []string{"--addr", ip, "--cluster", "nats://" + ip + ":6222"}}
		},
	})
	for n := range 3 {
		name := fmt.Sprint("disk-", n)
		assert.NoError(c.t, os.Mkdir(filepath.Join(os.Getenv("TMPDIR"), name), 0o700))
		c.api.must(http.MethodPost, "/api/v1/persistentvolumes", object{"metadata": object{"name": name}, "spec": object{
			"capacity": object{"storage": "20Gi"}, "accessModes": []string{"ReadWriteOnce"},
			"hostPath": object{"path": "/disks/" + name},
		}}, nil)
	}
}

// documented are the commands of docs/how-to/scale-out.md for Kubernetes.
func (c *cluster) documented() (lines []string) {
	c.t.Helper()
	page := assert.Must(os.ReadFile("../../docs/how-to/scale-out.md"))(c.t)
	_, section, _ := strings.Cut(string(page), "\n## Kubernetes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	loop := false
	for line := range strings.Lines(section) {
		command, ok := strings.CutPrefix(line, "    ")
		switch command = strings.TrimRight(command, "\n"); {
		case !ok:
		case loop:
			lines[len(lines)-1] += "\n" + command
			loop = command != "done"
		default:
			lines = append(lines, command)
			loop = strings.HasPrefix(command, "for ")
		}
	}
	if len(lines) < 2 {
		c.t.Fatalf("the page has the commands %q, want at least 2", lines)
	}
	return lines
}

// deploy runs the documented commands. The API server takes every object as it stands, pods only as its strictest
// standard wants them; it refuses a manifest with an unknown field.
func (c *cluster) deploy() {
	t := c.t
	c.api.must(http.MethodPatch, "/api/v1/namespaces/default",
		object{"metadata": object{"labels": object{"pod-security.kubernetes.io/enforce": "restricted"}}}, nil)
	broken := "sed 's/^spec:/spec:\\n  noSuchField: 1/' deploy/kubernetes/fleet/scaling.yaml | kubectl apply -f -"
	if out, err := command(t, c.env, broken); err == nil || !strings.Contains(out, "noSuchField") {
		t.Errorf(`an unknown field: %v %s, want an error and a text with "noSuchField"`, err, out)
	}
	for _, line := range c.documented() {
		if out := c.kubectl(line); strings.Contains(out, "Warning") {
			t.Errorf(`%s: %s, want no "Warning" in it`, line, out)
		}
	}
	eventually(t, "three NATS servers and two gateways are ready", func() string {
		var set, gateway struct{ Status struct{ ReadyReplicas int } }
		c.api.must(http.MethodGet, "/apis/apps/v1/namespaces/default/statefulsets/nats", nil, &set)
		c.api.must(http.MethodGet, deployments+"pinion-gateway", nil, &gateway)
		if set.Status.ReadyReplicas != 3 || gateway.Status.ReadyReplicas != 2 {
			return fmt.Sprint(set, gateway, c.nodes.problems())
		}
		return ""
	})
	eventually(t, "KEDA's metrics can be asked", func() string {
		var service struct {
			Status struct{ Conditions []condition }
		}
		c.api.must(http.MethodGet, externalMetrics, nil, &service)
		return is(service.Status.Conditions, "Available")
	})
	eventually(t, "KEDA takes the ScaledObject", func() string {
		var o struct {
			Status struct{ Conditions []condition }
		}
		c.api.must(http.MethodGet, scaled, nil, &o)
		return is(o.Status.Conditions, "Ready")
	})
	c.scalesTo(0)
}

// replicas are how many pods the model's Deployment wants and has.
func (c *cluster) replicas() (wanted, ready int) {
	c.t.Helper()
	var d struct {
		Spec   struct{ Replicas int }
		Status struct{ ReadyReplicas int }
	}
	c.api.must(http.MethodGet, deployments+"pinion", nil, &d)
	return d.Spec.Replicas, d.Status.ReadyReplicas
}

// scalesTo waits until the model has this many servers, and no other pod of it is left.
func (c *cluster) scalesTo(n int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("the model has %d servers", n), func() string {
		wanted, ready := c.replicas()
		list, err := c.api.pods("default")
		if err != nil {
			return err.Error()
		}
		list = slices.DeleteFunc(list, func(p pod) bool { return p.Metadata.Labels[nameLabel] != "pinion" })
		if wanted != n || ready != n || len(list) != n {
			var o, h struct {
				Status struct{ Conditions []condition }
			}
			_, scaledErr := c.api.do(http.MethodGet, scaled, nil, &o)
			_, autoscalerErr := c.api.do(http.MethodGet, autoscaler, nil, &h)
			return fmt.Sprintf("it wants %d, %d are ready, %d are there; KEDA: %+v %v; autoscaler: %+v %v", wanted, ready,
				len(list),
				o.Status.Conditions, scaledErr, h.Status.Conditions, autoscalerErr)
		}
		return ""
	})
}

// ask sends a request to the gateway's service.
func (c *cluster) ask(method, path string, body any, headers ...string) (int, harness.Prediction) {
	c.t.Helper()
	text := assert.Must(json.Marshal(body))(c.t)
	request := assert.Must(http.NewRequest(method, "http://pinion-gateway:5000"+path, bytes.NewReader(text)))(c.t)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response := assert.Must(http.DefaultClient.Do(request))(c.t)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	var p harness.Prediction
	if err != nil || json.Unmarshal(answer, &p) != nil {
		c.t.Fatalf("%s %s: got %v, want no error %s", method, path, err, answer)
	}
	return response.StatusCode, p
}

// backlog has predictions accepted, by their priority.
func (c *cluster) backlog(classes map[string]int) (ids []string) {
	c.t.Helper()
	for class, n := range classes {
		for range n {
			code, p := c.ask(http.MethodPost, "/predictions", object{"input": object{"token": class}}, "Prefer", "respond-async",
				"Pinion-Priority", class)
			assert.EqualNow(c.t, fmt.Sprintf("a gateway's answer %+v", p), code, http.StatusAccepted)
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func (c *cluster) each(ids []string, status string) {
	c.t.Helper()
	for _, id := range ids {
		eventually(c.t, id+" is "+status, func() string {
			if _, p := c.ask(http.MethodGet, "/predictions/"+id, nil); p.Status != status {
				return p.Status
			}
			return ""
		})
	}
}

func (c *cluster) eachRuns(ids []string)     { c.t.Helper(); c.each(ids, "processing") }
func (c *cluster) eachSucceeds(ids []string) { c.t.Helper(); c.each(ids, "succeeded") }

// evict has a server and a NATS server evicted, as a drain of their node does. Of each kind only one may go at a time.
// The job of the server that went runs on another.
func (c *cluster) evict(ids []string) {
	t := c.t
	for name, kept := range map[string]int{"pinion": len(ids) - 1, "nats": 2} {
		eventually(t, "the budget of "+name+" allows one", func() string {
			var b struct {
				Status struct{ DesiredHealthy, DisruptionsAllowed, ExpectedPods int }
			}
			c.api.must(http.MethodGet, budgets+name, nil, &b)
			if b.Status.DisruptionsAllowed != 1 || b.Status.DesiredHealthy != kept || b.Status.ExpectedPods != kept+1 {
				return fmt.Sprint(b)
			}
			return ""
		})
		list := assert.Must(c.api.pods("default"))(t)
		list = slices.DeleteFunc(list, func(p pod) bool { return p.Metadata.Labels[nameLabel] != name })
		var codes []int
		for _, p := range list[:2] {
			code, _ := c.api.do(http.MethodPost, "/api/v1/namespaces/default/pods/"+p.Metadata.Name+"/eviction", object{
				"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": p.Metadata.Name, "namespace": "default"},
			}, nil)
			codes = append(codes, code)
		}
		assert.EqualSlices(t, "evictions of two pods of "+name, codes, []int{http.StatusCreated, http.StatusTooManyRequests})
		eventually(t, "another pod of "+name+" is there, and the evicted one is gone", func() string {
			now, err := c.api.pods("default")
			now = slices.DeleteFunc(now, func(p pod) bool {
				return p.Metadata.Labels[nameLabel] != name || is(p.Status.Conditions, "Ready") != ""
			})
			if err != nil || len(now) != kept+1 ||
				slices.ContainsFunc(now, func(p pod) bool { return p.Metadata.UID == list[0].Metadata.UID }) {
				return fmt.Sprint(err, len(now))
			}
			return ""
		})
	}
	c.scalesTo(len(ids))
	c.eachRuns(ids)
}

// scalesDown waits until KEDA has ended all servers. With the manifest's times that takes a quarter of an hour, so they
// are shorter.
func (c *cluster) scalesDown() {
	c.t.Helper()
	c.kubectl(`kubectl patch scaledobject pinion --type merge -p '{"spec":{"cooldownPeriod":10,"advanced":{"horizontalPodAutoscalerConfig":` +
		`{"behavior":{"scaleDown":{"stabilizationWindowSeconds":0,"policies":[{"type":"Pods","value":1,"periodSeconds":5}]}}}}}}'`)
	c.scalesTo(0)
}

// deploySingle is the Deployment without a queue.
func (c *cluster) deploySingle() {
	c.t.Helper()
	c.api.must(http.MethodPost, "/api/v1/namespaces",
		object{"metadata": object{"name": "single", "labels": object{"pod-security.kubernetes.io/enforce": "restricted"}}},
		nil)
	c.kubectl("kubectl apply -n single -f deploy/kubernetes/pinion.yaml -f deploy/kubernetes/podmonitor.yaml")
	eventually(c.t, "the single server is ready", func() string {
		var d struct{ Status struct{ ReadyReplicas int } }
		c.api.must(http.MethodGet, "/apis/apps/v1/namespaces/single/deployments/pinion", nil, &d)
		if d.Status.ReadyReplicas != 1 {
			return "it is not"
		}
		return ""
	})
	c.kubectl("kubectl apply -n single --dry-run=server -f deploy/kubernetes/keda-prometheus.yaml")
	c.kubectl("kubectl delete -n single deployment pinion")
}

// nothingWentWrong: the nodes had no trouble, and there were never more servers than jobs.
func (c *cluster) nothingWentWrong(jobs int) {
	c.t.Helper()
	c.noTrouble()
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	assert.Equal(c.t, "servers for jobs", c.nodes.most["default/pinion"], jobs)
}

// noTrouble: no pod outlived its grace period, and none ended by itself.
func (c *cluster) noTrouble() {
	c.t.Helper()
	k := c.nodes
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.killed) > 0 {
		c.t.Errorf("pods were killed after their grace period: %q", k.killed)
	}
	if len(k.failed) > 0 {
		c.t.Errorf("the nodes had trouble: %q", k.failed)
	}
}

// problems are those that the nodes had.
func (k *kubelet) problems() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.failed)
}
