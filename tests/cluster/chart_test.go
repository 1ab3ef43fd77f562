package cluster

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
)

const (
	chartDeployment = "/apis/apps/v1/namespaces/chart/deployments/my-model-pinion"
	chartBudget     = "/apis/policy/v1/namespaces/chart/poddisruptionbudgets/my-model-pinion"
	chartMonitor    = "/apis/monitoring.coreos.com/v1/namespaces/chart/podmonitors/my-model-pinion"
)

// TestCluster_HelmChart installs deploy/helm/pinion as docs/how-to/kubernetes.md says, with tokens for its clients, asks the model,
// upgrades the release and takes it away.
func TestCluster_HelmChart(t *testing.T) {
	if os.Getenv(envPrograms) == "" {
		t.Skip("./build.sh cluster builds a control plane and runs it")
	}
	dir := filepath.Join(os.Getenv("TMPDIR"), "chart") // the other test has its nodes' files beside it
	assert.NoError(t, os.Mkdir(dir, 0o700))
	t.Setenv("TMPDIR", dir)
	c := &cluster{controlPlane: startControlPlane(t)}
	c.definePrometheus()
	c.makeGate()
	c.open()
	c.startNodes()
	c.api.must(http.MethodPost, "/api/v1/namespaces",
		object{"metadata": object{"name": "chart", "labels": object{"pod-security.kubernetes.io/enforce": "restricted"}}},
		nil)
	const token = "a-token-of-ada-with-enough-letters"
	c.kubectl("kubectl create secret generic clients --namespace chart --from-literal=tokens=" + token)
	if out, err := command(t, c.env, c.helm("install")+" --set replica=2"); err == nil ||
		!strings.Contains(out, "replica") {
		t.Errorf("an unknown value: got %v, want an error that names it:\n%s", err, out)
	}
	c.kubectl(c.helm("install") + " --set tokenSecret=clients --set podMonitor.enabled=true")
	c.chartHas(1)
	c.api.must(http.MethodGet, chartMonitor, nil, nil)
	if code, err := c.api.do(http.MethodGet, chartBudget, nil, nil); code != http.StatusNotFound {
		t.Errorf("the budget of one server: got %d %v, want none", code, err)
	}
	for sent, want := range map[string]int{"": http.StatusUnauthorized, token: http.StatusOK} {
		eventually(t, fmt.Sprintf("a request with the token %q is answered %d", sent, want), func() string {
			if code, err := askChart(sent); err != nil || code != want { // the names of the service come late
				return fmt.Sprint(code, err)
			}
			return ""
		})
	}
	c.kubectl(c.helm("upgrade") + " --reuse-values --set replicas=2")
	c.chartHas(2)
	c.api.must(http.MethodGet, chartBudget, nil, nil)
	c.kubectl("helm uninstall my-model --namespace chart")
	eventually(t, "nothing of the release is left", func() string {
		code, _ := c.api.do(http.MethodGet, chartDeployment, nil, nil)
		if list, err := c.api.pods("chart"); err != nil || len(list) > 0 || code != http.StatusNotFound {
			return fmt.Sprint(code, len(list), err)
		}
		return ""
	})
	c.noTrouble()
}

// helm is the documented command, for the namespace of the chart.
func (c *cluster) helm(verb string) string {
	c.t.Helper()
	page := assert.Must(os.ReadFile("../../docs/how-to/kubernetes.md"))(c.t)
	line := regexp.MustCompile(`(?m)^    helm install (.*)$`).FindSubmatch(page)
	if line == nil {
		c.t.Fatal("docs/how-to/kubernetes.md does not install the chart")
	}
	return "helm " + verb + " " + string(line[1]) + " --namespace chart"
}

// chartHas waits until that many servers of the release are ready.
func (c *cluster) chartHas(n int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("the release has %d servers", n), func() string {
		var d struct {
			Status struct{ Replicas, ReadyReplicas int }
		}
		c.api.must(http.MethodGet, chartDeployment, nil, &d)
		if d.Status.Replicas != n || d.Status.ReadyReplicas != n {
			return fmt.Sprint(d, c.nodes.problems())
		}
		return ""
	})
}

// askChart makes a prediction and returns its status.
func askChart(token string) (int, error) {
	request, err := http.NewRequest(http.MethodPost, "http://my-model-pinion.chart.svc:5000/predictions",
		bytes.NewBufferString(`{"input": {"token": "chart"}}`))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}
