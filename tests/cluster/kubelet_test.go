package cluster

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A kubelet plays the nodes: it runs each pod's container as a process, and names services and pods in /etc/hosts.
type kubelet struct {
	t      *testing.T
	api    *api
	images map[string]func(ip string) image // by their names without a tag
	done   chan struct{}
	wg     sync.WaitGroup

	mu     sync.Mutex
	byUID  map[string]*container
	count  int
	most   map[string]int // how many pods there were at once, by the name in their labels
	killed []string       // pods that did not end within their grace period
	failed []string       // starts and ends that were not to be
}

// An image is a program that pods run.
type image struct {
	argv  []string          // before the arguments of the manifest
	after []string          // behind them
	files map[string]string // folders in the image, and where they are
	env   []string
}

// A container is one that runs.
type container struct {
	pod  pod
	stop chan struct{} // closed once its pod is being deleted
	gone chan struct{} // closed once its pod no longer exists
}

// startKubelet makes nodes, with the GPUs that the manifests ask for, and plays them until the test ends.
func startKubelet(t *testing.T, a *api, nodes int, images map[string]func(ip string) image) *kubelet {
	t.Helper()
	for n := range nodes {
		name := fmt.Sprint("node-", n+1)
		a.must(http.MethodPost, "/api/v1/nodes", object{"metadata": object{"name": name, "labels": object{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
		}}}, nil)
		size := object{"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8", "ephemeral-storage": "100Gi"}
		a.must(http.MethodPatch, "/api/v1/nodes/"+name+"/status", object{"status": object{
			"capacity": size, "allocatable": size,
			"addresses": []object{{"type": "InternalIP", "address": fmt.Sprint("10.244.200.", n+1)}},
			"conditions": []object{{
				"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now(),
				"lastTransitionTime": now(),
			}},
		}}, nil)
	}
	k := &kubelet{
		t: t, api: a, images: images, done: make(chan struct{}), byUID: map[string]*container{},
		most: map[string]int{},
	}
	k.wg.Add(1)
	go k.work()
	t.Cleanup(func() {
		close(k.done)
		k.wg.Wait()
	})
	return k
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// work compares what runs with what the API server wants.
func (k *kubelet) work() {
	defer k.wg.Done()
	for hosts := ""; ; {
		if list, err := k.api.pods(""); err == nil {
			k.compare(list)
		}
		if names, err := k.names(); err == nil && names != hosts {
			if err := overwrite("/etc/hosts", names); err != nil {
				k.fail("write /etc/hosts: %v", err)
			}
			hosts = names
		}
		select {
		case <-k.done:
			return
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// overwrite replaces the text of a file that others read, without a moment in which it is empty.
func overwrite(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(text), 0)
	return cmp.Or(err, f.Truncate(int64(len(text))))
}

func (k *kubelet) fail(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = append(k.failed, fmt.Sprintf(format, args...))
}

func (k *kubelet) compare(list []pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	there, count := map[string]bool{}, map[string]int{}
	for _, p := range list {
		there[p.Metadata.UID] = true
		if p.Spec.NodeName == "" {
			continue
		}
		c := k.byUID[p.Metadata.UID]
		if c == nil {
			k.count++
			c = &container{pod: p, stop: make(chan struct{}), gone: make(chan struct{})}
			k.byUID[p.Metadata.UID] = c
			k.wg.Add(1)
			go k.run(c, fmt.Sprintf("10.244.1.%d", k.count))
		}
		if p.Metadata.DeletionTimestamp == nil {
			count[p.Metadata.Namespace+"/"+p.Metadata.Labels[nameLabel]]++
		} else if c.pod.Metadata.DeletionTimestamp == nil {
			c.pod.Metadata = p.Metadata
			close(c.stop)
		}
	}
	for name, n := range count {
		k.most[name] = max(k.most[name], n)
	}
	for uid, c := range k.byUID {
		if !there[uid] {
			close(c.gone)
			delete(k.byUID, uid)
		}
	}
}

const nameLabel = "app.kubernetes.io/name"

// run runs a pod's container until the pod goes. It starts it again when it ends by itself.
func (k *kubelet) run(c *container, ip string) {
	defer k.wg.Done()
	argv, env, err := k.commandOf(&c.pod, ip)
	if err != nil {
		k.fail("prepare %s: %v", c.pod.Metadata.Name, err)
		return
	}
	for starts := 0; ; starts++ {
		p, err := start(k.t, fmt.Sprintf("%s-%s-%d", c.pod.Metadata.Namespace, c.pod.Metadata.Name, starts), env, argv...)
		if err != nil {
			k.fail("start %s: %v", c.pod.Metadata.Name, err)
			return
		}
		if k.watch(c, p, ip, starts) {
			p.kill()
			return
		}
		k.fail("%s ended by itself", c.pod.Metadata.Name)
		select {
		case <-k.done:
			return
		case <-c.gone:
			return
		case <-time.After(time.Second):
		}
	}
}

// watch asks the probes and tells what they say. It returns once the process has ended: true if that was to be.
func (k *kubelet) watch(c *container, p *process, ip string, starts int) bool {
	spec := c.pod.Spec.Containers[0]
	started, ready, told, failures, alive := spec.StartupProbe == nil, false, "", 0, time.Now()
	for {
		wait := spec.ReadinessProbe.PeriodSeconds
		switch {
		case !started:
			wait = spec.StartupProbe.PeriodSeconds
			started = k.ask(&c.pod, spec.StartupProbe, ip)
		default:
			ready = k.ask(&c.pod, spec.ReadinessProbe, ip)
		}
		if live := spec.LivenessProbe; started && time.Since(alive) >= time.Duration(live.PeriodSeconds)*time.Second {
			alive = time.Now()
			if failures++; k.ask(&c.pod, live, ip) {
				failures = 0
			} else if failures >= live.FailureThreshold {
				k.fail("%s is not alive", c.pod.Metadata.Name)
			}
		}
		if status := fmt.Sprint(started, ready); status != told && k.tell(&c.pod, ip, started, ready, starts) {
			told = status
		}
		select {
		case <-p.exited:
			return false
		case <-k.done:
			return true
		case <-c.gone:
			return true
		case <-c.stop:
			k.end(c, p)
			return true
		case <-time.After(time.Duration(wait) * time.Second):
		}
	}
}

// end is how Kubernetes ends a pod: the hook, SIGTERM, and SIGKILL once the grace period is over.
func (k *kubelet) end(c *container, p *process) {
	timeout := time.After(time.Duration(c.pod.Metadata.DeletionGracePeriodSeconds) * time.Second)
	select {
	case <-p.exited:
	case <-time.After(time.Duration(c.pod.Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds) * time.Second):
	}
	began := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.exited:
		k.t.Logf("%s ended %s after SIGTERM", c.pod.Metadata.Name, time.Since(began).Round(100*time.Millisecond))
	case <-k.done:
		return
	case <-timeout:
		k.mu.Lock()
		k.killed = append(k.killed, c.pod.Metadata.Name)
		k.mu.Unlock()
	}
	p.kill()
	path := objectsOf(&c.pod) + "pods/" + c.pod.Metadata.Name
	if code, err := k.api.do(http.MethodDelete, path,
		object{"gracePeriodSeconds": 0, "preconditions": object{"uid": c.pod.Metadata.UID}}, nil); err != nil &&
		code != http.StatusNotFound {
		k.fail("delete %s: %v", c.pod.Metadata.Name, err)
	}
}

// ask makes the request of a probe. A busy machine gets more time than the manifests give.
func (k *kubelet) ask(p *pod, probe *probe, ip string) bool {
	port := fmt.Sprint(probe.HTTPGet.Port)
	for _, named := range p.Spec.Containers[0].Ports {
		if named.Name == port {
			port = fmt.Sprint(named.ContainerPort)
		}
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + ip + ":" + port + probe.HTTPGet.Path)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode < http.StatusBadRequest
}

// tell writes the state of a pod.
func (k *kubelet) tell(p *pod, ip string, started, ready bool, starts int) bool {
	spec := p.Spec.Containers[0]
	word := map[bool]string{true: "True", false: "False"}
	var conditions []object
	for name, holds := range map[string]bool{
		"PodReadyToStartContainers": true, "Initialized": true,
		"ContainersReady": ready, "Ready": ready,
	} {
		conditions = append(conditions, object{"type": name, "status": word[holds], "lastTransitionTime": now()})
	}
	_, err := k.api.do(http.MethodPatch, objectsOf(p)+"pods/"+p.Metadata.Name+"/status",
		object{
			"metadata": object{"uid": p.Metadata.UID}, // not the next one of this name
			"status": object{
				"phase": "Running", "podIP": ip, "podIPs": []object{{"ip": ip}}, "conditions": conditions,
				"containerStatuses": []object{{
					"name": spec.Name, "image": spec.Image, "imageID": spec.Image, "ready": ready, "started": started,
					"restartCount": starts,
					"state":        object{"running": object{"startedAt": now()}},
				}},
			},
		}, nil)
	return err == nil
}

// names are the lines of /etc/hosts: services and the pods of headless ones, as the cluster's DNS has them.
func (k *kubelet) names() (string, error) {
	var slicesOf struct {
		Items []struct {
			Metadata  metadata
			Endpoints []struct {
				Addresses  []string
				Hostname   string
				Conditions struct{ Ready *bool }
			}
		}
	}
	if _, err := k.api.do(http.MethodGet, "/apis/discovery.k8s.io/v1/endpointslices", nil, &slicesOf); err != nil {
		return "", err
	}
	lines := []string{"127.0.0.1 localhost"}
	for _, s := range slicesOf.Items {
		service := s.Metadata.Labels["kubernetes.io/service-name"]
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready || len(e.Addresses) == 0 {
				continue
			}
			full := service + "." + s.Metadata.Namespace + ".svc"
			line := e.Addresses[0] + " " + full + ".cluster.local " + full
			if s.Metadata.Namespace == "default" {
				line += " " + service
			}
			if e.Hostname != "" {
				line += " " + e.Hostname + "." + service + " " + e.Hostname + "." + full + ".cluster.local"
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}
