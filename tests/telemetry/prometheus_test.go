package telemetry

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// shownModel is a model that brings about what the Grafana dashboard shows.
const shownModel = `import os
from typing import Iterator, Optional

from cog import BaseRunner, Path, current_scope


class Runner(BaseRunner):
    def run(self, how: str = "", file: Optional[Path] = None) -> Iterator[str]:
        current_scope().record_metric("tokens", 3)
        if how == "raise":
            raise ValueError("as asked")
        if how == "exit":
            os._exit(3)
        yield "a"
        yield "b"


def train(n: int = 1) -> str:
    return str(n)
`

// TestPrometheus_AnswersDashboard: a real Prometheus that scrapes real servers has a number for each query of the
// Grafana dashboard, and evaluates each alert.
func TestPrometheus_AnswersDashboard(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	tool := harness.Tool(t, "prometheus/usr/bin/prometheus", "prometheus")
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "content")
	}))
	defer peer.Close()
	dir := harness.NewFolder(t, "run.py", shownModel, "cog.yaml", "run: run.py:Runner\ntrain: run.py:train\n")
	shown := harness.Ready(t, harness.Options{
		Dir: dir, Args: []string{"--nats", "embed:" + t.TempDir(), "--model", "m", "--grpc-port", "0"},
		Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + harness.StartCollector(t).URL, "LD_LIBRARY_PATH=" + fakeNVML(t)},
	})
	batched := harness.Ready(t, harness.Options{Model: "live.py:Batched"})
	_, client := shown.GRPC()
	prometheus := startPrometheus(t, tool, shown.Address, batched.Address)
	shown.Do(http.MethodPost, "/predictions", map[string]any{"input": harness.Input{"how": "exit"}})
	shown.WaitHealth("READY")
	waiting := map[string]bool{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("queries without a number: %s", strings.Join(slices.Sorted(maps.Keys(waiting)), "\n"))
		}
	})
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			if target.Expr != "" { // else it asks for traces
				waiting[target.Expr] = true
			}
		}
	}
	assert.TrueNow(t, len(waiting) >= 60, "the dashboard has %d queries, want at least 60", len(waiting))
	assert.Eventually(t, "each query has a number", func() bool {
		askAll(t, shown, batched, peer.URL, client)
		for expr := range maps.Clone(waiting) {
			if asksPrometheus(t, prometheus, expr) {
				delete(waiting, expr)
			}
		}
		return len(waiting) == 0
	})
	assert.Eventually(t, "each alert is evaluated", func() bool {
		var rules struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		harness.Decode(t, prometheus.Do(http.MethodGet, "/api/v1/rules", nil), &rules)
		n := 0
		for _, g := range rules.Data.Groups {
			for _, r := range g.Rules {
				assert.EqualNow(t, "the alert "+r.Name, r.LastError, "")
				if r.Health == "ok" {
					n++
				}
			}
		}
		return n == len(readAlerts(t))
	})
}

// askAll makes requests of each kind once.
func askAll(t *testing.T, shown, batched *harness.Server, peer string, client pb.GRPCInferenceServiceClient) {
	t.Helper()
	send := func(s *harness.Server, path string, in harness.Input, headers ...string) {
		body := map[string]any{"input": in, "webhook": peer, "webhook_events_filter": []string{"completed"}}
		s.Do(http.MethodPost, path, body, headers...)
	}
	send(shown, "/predictions", harness.Input{"file": peer + "/in.txt"})
	send(shown, "/predictions", harness.Input{"how": "raise"})
	send(shown, "/predictions", harness.Input{}, "Prefer", "respond-async")
	send(shown, "/predictions", harness.Input{}, "Accept", "text/event-stream")
	send(shown, "/trainings", harness.Input{})
	send(batched, "/predictions", harness.Input{"text": "a"})
	_, err := client.ServerLive(t.Context(), &pb.ServerLiveRequest{})
	assert.NoError(t, err)
}

// startPrometheus runs a Prometheus with our alerts that scrapes servers each second.
func startPrometheus(t *testing.T, tool string, servers ...string) *harness.Server {
	t.Helper()
	alerts := harness.Absolute(t, filepath.Join(harness.ObservabilityFolder, "alerts.yaml"))
	for i, s := range servers {
		servers[i] = strings.TrimPrefix(s, "http://")
	}
	folder, at := t.TempDir(), harness.FreeAddress(t)
	config := filepath.Join(folder, "prometheus.yaml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: pinion, static_configs: [{targets: [%s]}]}]\n", alerts, strings.Join(servers, ", "))
	harness.WriteFile(t, config, text)
	harness.RunBeside(t, "Prometheus", exec.Command(tool, "--config.file="+config, "--storage.tsdb.path="+folder+"/data",
		"--web.listen-address="+at))
	assert.Eventually(t, "Prometheus listens", func() bool { return listens(at) })
	return harness.At("http://" + at)
}

// asksPrometheus reports whether a query of the dashboard has a number. A query that Prometheus refuses fails the test.
func asksPrometheus(t *testing.T, prometheus *harness.Server, expr string) bool {
	t.Helper()
	query := strings.NewReplacer("$job", ".*", "$instance", ".*", "$model", ".*", "$__rate_interval", "10s").Replace(expr)
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	harness.Decode(t, prometheus.Do(http.MethodGet, "/api/v1/query?query="+url.QueryEscape(query), nil), &answer)
	assert.EqualNow(t, query, answer.Error, "")
	return slices.ContainsFunc(answer.Data.Result, func(r struct{ Value [2]any }) bool { return r.Value[1] != "NaN" })
}
