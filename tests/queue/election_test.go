package queue

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// held is how long a request is held before it is refused, less a moment.
const held = 9500 * time.Millisecond

// TestElection_RequestsAreHeld: three servers of NATS store everything and their leader is killed. While the others
// choose one, no request is refused at any door: it waits, and only after 10 s it is refused.
func TestElection_RequestsAreHeld(t *testing.T) {
	t.Parallel()
	cluster := harness.StartNATSCluster(t)
	var urls []string
	for _, n := range cluster {
		urls = append(urls, n.URL)
	}
	joined := strings.Join(urls, ",")
	args := []string{"--nats-replicas", "3", "--ack-wait", "30s", "--attempts", "9"}
	a := harness.StartMember(t, joined, harness.Options{Args: args})
	gateway := harness.StartGateway(t, joined, args...)
	async := []string{"Prefer", "respond-async"}
	accept := func(id string, in harness.Input) {
		t.Helper()
		assert.Eventually(t, id+" is accepted", func() bool {
			return a.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": in}, async...).Code == http.StatusAccepted
		})
	}
	accept("ended", harness.Input{})
	harness.WaitStatus(t, gateway.Server, "ended", "succeeded")
	accept("runs", harness.Input{"do": "sleep"})
	assert.Eventually(t, "the gateway knows the model", func() bool {
		return gateway.Do(http.MethodGet, "/openapi.json", nil).Code == http.StatusOK
	})
	in := map[string]any{"input": harness.Input{}}
	doors := map[string]func() harness.Answer{
		"PUT at a server": func() harness.Answer { return a.Do(http.MethodPut, "/predictions/p1", in, async...) },
		"PUT at a gateway": func() harness.Answer {
			return gateway.Do(http.MethodPut, "/predictions/p2", in, async...)
		},
		"POST at a gateway": func() harness.Answer { return gateway.Create(in, async...) },
		"instances at a gateway": func() harness.Answer {
			return gateway.Do(http.MethodPost, "/v1/models/m:predict",
				map[string]any{"instances": []any{harness.Input{}}}, async...)
		},
		"GET at a server":  func() harness.Answer { return harness.StateOf(a, "ended") },
		"GET at a gateway": func() harness.Answer { return harness.StateOf(gateway.Server, "ended") },
		"cancel":           func() harness.Answer { return gateway.Do(http.MethodPost, "/predictions/runs/cancel", nil) },
	}
	cluster[harness.StreamLeader(t, cluster, "KV_pinion_state_m")].Kill()
	type answered struct {
		door string
		got  harness.Answer
		took time.Duration
	}
	answers := make(chan answered, len(doors))
	for door, ask := range doors {
		go func() {
			begun := time.Now()
			got := ask()
			answers <- answered{door, got, time.Since(begun)}
		}()
	}
	for range doors {
		answer := harness.Receive(t, answers)
		switch {
		case answer.got.Code < http.StatusBadRequest:
		case answer.got.Code == http.StatusServiceUnavailable && answer.took > held:
			t.Logf("%s was refused after %s", answer.door, answer.took)
		default:
			t.Errorf("%s: %s after %s, want a good answer, or 503 after %s", answer.door, answer.got, answer.took, held)
		}
	}
}

// TestElection_StartListensAtOnce: NATS takes connections and says nothing. What starts then listens before its first
// attempt to connect has failed, says what it waits for, and joins when NATS answers.
func TestElection_StartListensAtOnce(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	nats.Signal(syscall.SIGSTOP)
	defer nats.Signal(syscall.SIGCONT)
	server := harness.StartMember(t, nats.URL, harness.Options{})
	gateway := harness.StartGateway(t, nats.URL)
	finding := harness.StartGatewayWith(t, nats.URL)
	for name, log := range map[string]*harness.Log{
		"the server": server.Log, "the gateway": gateway.Log, "the gateway of all models": finding.Log,
	} {
		for _, line := range log.Lines() {
			if line.Text == "listening" {
				break
			}
			assert.True(t, !strings.Contains(line.Text, "cannot be reached"),
				"%s listens after its first attempt to connect, want before", name)
		}
	}
	for name, s := range map[string]*harness.Server{"the server": server, "the gateway": gateway.Server} {
		assert.Contains(t, name+" waits", string(s.Do(http.MethodGet, "/health-check", nil).Body),
			`"error":"The job queue takes no requests now: `, "NATS")
	}
	harness.WantCode(t, "the server's readiness", server.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	for _, g := range []harness.Gateway{gateway, finding} {
		got := g.Do(http.MethodGet, "/readyz", nil)
		assert.True(t, got.Code == http.StatusServiceUnavailable && strings.Contains(string(got.Body), "NATS"),
			"a gateway's readiness: %s, want 503 and what it waits for", got)
	}
	nats.Signal(syscall.SIGCONT)
	assert.Eventually(t, "a job is accepted", func() bool {
		return gateway.Create(map[string]any{"id": "p1", "input": harness.Input{}}, "Prefer", "respond-async").Code ==
			http.StatusAccepted
	})
	harness.WaitStatus(t, server, "p1", "succeeded")
	assert.Eventually(t, "the other gateway is ready", func() bool {
		return finding.Do(http.MethodGet, "/readyz", nil).Code == http.StatusOK
	})
}

// TestElection_RefusalEndsWhatListens: NATS is silent, or away, until servers and gateways listen, or until they have
// given up their first attempt to connect, and then refuses them. They end with its words.
func TestElection_RefusalEndsWhatListens(t *testing.T) {
	t.Parallel()
	freeze := func(n *harness.NATS) { n.Signal(syscall.SIGSTOP) }
	thaw := func(n *harness.NATS) { n.Signal(syscall.SIGCONT) }
	for how, nats := range map[string]struct {
		leave, come func(*harness.NATS)
		long        bool
	}{
		"silent":          {freeze, thaw, false},
		"silent for long": {freeze, thaw, true},
		"away":            {(*harness.NATS).Kill, (*harness.NATS).Start, true},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := harness.StartNATS(t)
			harness.StartMember(t, n.URL, harness.Options{}).Stop()
			nats.leave(n)
			var (
				ends []func()
				logs []*harness.Log
			)
			given := strings.Replace(n.URL, "//", "//m:guessed@", 1)
			for about, c := range map[string]struct {
				args []string
				code int
				want string
			}{
				"a password": {[]string{"--nats", given, "--model", "m"}, 1, "Authorization Violation"},
				"another model": {
					[]string{"--nats", n.URL, "--model", "other"},
					1,
					"NATS denies this user the job queue of the model other",
				},
				"other settings": {
					[]string{"--nats", n.URL, "--model", "m", "--jobs-capacity", "7"},
					2,
					"the stream PINION_JOBS_m has max_msgs 100000, but this server is to have 7",
				},
			} {
				server := harness.Start(t, harness.Options{Model: "fleet.py", Args: c.args})
				gateway := harness.StartGatewayWith(t, c.args[1], c.args[2:]...)
				logs = append(logs, server.Log, gateway.Log)
				ends = append(ends, func() {
					code, says := server.RefusedLate()
					assert.True(t, code == c.code && strings.Contains(says, c.want), "%s: the server's exit code %d: %s; want %d, %q",
						about, code, says, c.code, c.want)
					wantEnd(t, about+": the gateway's", gateway, c.code, c.want)
				})
			}
			all := harness.StartGatewayWith(t, given)
			for _, log := range append(logs, all.Log) {
				assert.Eventually(t, "NATS did not answer for long", func() bool {
					return !nats.long || strings.Contains(log.String(), "cannot be reached")
				})
			}
			nats.come(n)
			for _, hasEnded := range ends {
				hasEnded()
			}
			wantEnd(t, "the gateway of all models", all, 1, "Authorization Violation")
		})
	}
}

// wantEnd waits for a gateway that ends by itself.
func wantEnd(t *testing.T, about string, gateway harness.Gateway, code int, words string) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- gateway.Cmd.Wait() }()
	_ = harness.Receive(t, ended) // ProcessState has the exit code
	assert.Contains(t, about+" words", gateway.Log.String(), words)
	assert.Equal(t, about+" exit code", gateway.Cmd.ProcessState.ExitCode(), code)
}
