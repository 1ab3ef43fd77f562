package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// mixedModel yields as many tokens as it is told, each by a batched method. Each prediction is a line of its ledger.
const mixedModel = `
import os
from collections.abc import AsyncIterator
import cog

LEDGER = os.open(%q, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

class Sequence:
    def __init__(self, text: str) -> None:
        self.text, self.n = text, 0

class Tokens(cog.BaseRunner):
    @cog.batch(max_size=8)
    def step(self, s: list[Sequence]) -> list[str]:
        for each in s:
            each.n += 1
        return [f"{each.text}.{each.n}|" for each in s]

    async def tokens(self, text: str, n: int) -> AsyncIterator[str]:
        os.write(LEDGER, (text + "\n").encode())
        sequence = Sequence(text)
        for _ in range(n):
            yield await self.step(sequence)

class Chat(Tokens):
    @cog.openai("chat")
    @cog.concurrent(max=8)
    async def run(self, messages: list[dict] = [], text: str = "", max_tokens: int = 10) -> AsyncIterator[str]:
        async for token in self.tokens(text or messages[-1]["content"], max_tokens):
            yield token

class Complete(Tokens):
    @cog.openai("completions")
    @cog.concurrent(max=8)
    async def run(self, prompt: str, max_tokens: int = 10) -> AsyncIterator[str]:
        async for token in self.tokens(prompt, max_tokens):
            yield token

class Embed(cog.BaseRunner):
    @cog.openai("embeddings")
    @cog.batch(max_size=8)
    def run(self, input: list[str]) -> list[list[float]]:
        os.write(LEDGER, "".join(text + "\n" for text in input).encode())
        return [[float(text[1:]), -float(text[1:])] for text in input]
`

var mixedModels = []string{"chat", "chat@2", "complete", "embed"}

// mixed is a load on all doors of these models, with a mirror.
type mixed struct {
	t    *testing.T
	s    *harness.Server
	grpc pb.GRPCInferenceServiceClient
	mu   sync.Mutex
	next int
	seen map[string]int // answers, by door and outcome
	good []string       // texts that were answered
}

// TestMixed_AllDoors drives every door of a model with a batched method, with clients that leave and cancels, a mirror,
// shifts of traffic, reloads and kills of workers. PINION_CHAOS_MINUTES says for how long; without it, 20 seconds.
func TestMixed_AllDoors(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	dir := t.TempDir()
	ledger := filepath.Join(dir, "ledger.txt")
	harness.WriteFile(t, filepath.Join(dir, "model", "run.py"), fmt.Sprintf(mixedModel, ledger))
	config := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, config, `
models:
  chat: {path: model, queue: 100, predictor: "run.py:Chat"}
  chat@2: {path: model, queue: 100, predictor: "run.py:Chat"}
  complete: {path: model, queue: 100, predictor: "run.py:Complete"}
  embed: {path: model, queue: 100, predictor: "run.py:Embed"}
traffic: {chat@1: 50, chat@2: 50}
mirror: chat@2
`)
	s := harness.Start(t, harness.Options{
		Dir: t.TempDir(), Models: []string{"--config", config},
		Args: []string{"--allow-model-control", "--cancel-grace", "1s", "--queue-timeout", "30s", "--grpc-port", "0"},
		Env:  []string{"AIP_PREDICT_ROUTE=/vertex"},
	})
	harness.WaitModels(t, s)
	m := &mixed{t: t, s: s, seen: map[string]int{}}
	_, m.grpc = s.GRPC()
	length := 20 * time.Second
	if minutes := setting(t, "PINION_CHAOS_MINUTES", 0); minutes > 0 {
		length = time.Duration(minutes) * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() { m.load(ctx, 150*time.Millisecond, m.doors()...) })
	}
	clients.Go(func() { m.load(ctx, 200*time.Millisecond, m.leave, m.cancel) })
	clients.Go(func() { m.load(ctx, 4*time.Second, m.kill, m.reload, m.shift, m.shift) })
	clients.Wait()
	t.Logf("in %v: %v", length, m.seen)
	m.everyDoorServes()
	m.ledgerHas(ledger)
}

// load does one of these after the other, at random, until ctx ends.
func (m *mixed) load(ctx context.Context, pause time.Duration, do ...func()) {
	for ctx.Err() == nil {
		do[rand.IntN(len(do))]()
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(pause)):
		}
	}
}

// begin names a request, and says how many tokens it asks for and what its answer is. One of eight answers is beyond
// 64 KiB, where buffers of other kinds serve.
func (m *mixed) begin() (text string, n int, want string) {
	m.mu.Lock()
	m.next++
	text, n = fmt.Sprintf("u%d", m.next), 1+rand.IntN(20)
	m.mu.Unlock()
	if rand.IntN(8) == 0 {
		text, n = text+strings.Repeat("x", 8<<10), 10+n
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s.%d|", text, i+1)
	}
	return text, n, b.String()
}

// ended notes an answer. One that says that it succeeded has its own text; another names what happened to its worker or to
// the queue.
func (m *mixed) ended(door, text, got, want string, a harness.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case a.Err != nil:
		m.t.Errorf("%s %.10s: got %v, want an answer", door, text, a.Err)
	case got == want:
		m.seen[door+" right"]++
		m.good = append(m.good, text)
	case a.Code/100 == 2 && strings.Contains(string(a.Body), "worker") && strings.HasPrefix(want, got),
		a.Code == http.StatusServiceUnavailable, a.Code == http.StatusTooManyRequests,
		a.Code == http.StatusInternalServerError && strings.Contains(string(a.Body), "worker"):
		m.seen[fmt.Sprintf("%s lost its worker %d", door, a.Code)]++
	default:
		m.t.Errorf("%s %.10s: got %.200q of %s, want %.200q", door, text, got, a, want)
	}
}

func (m *mixed) leave() {
	text, _, _ := m.begin()
	ctx, cancel := context.WithTimeout(m.t.Context(), rand.N(100*time.Millisecond))
	defer cancel()
	m.s.DoContext(ctx, http.MethodPost, "/models/chat/predictions", prediction(text, 5000))
}

func (m *mixed) cancel() {
	text, _, _ := m.begin()
	path := "/models/chat/predictions/" + strings.TrimRight(text, "x")
	m.s.Do(http.MethodPut, path, prediction(text, 5000), "Prefer", "respond-async")
	time.Sleep(rand.N(100 * time.Millisecond))
	m.s.Do(http.MethodPost, path+"/cancel", nil)
}

func (m *mixed) kill() {
	var health harness.Health
	a := m.s.Do(http.MethodGet, "/models/"+mixedModels[rand.IntN(len(mixedModels))]+"/health-check", nil)
	if a.Err != nil || json.Unmarshal(a.Body, &health) != nil || len(health.Workers) == 0 || health.Workers[0].PID == 0 {
		return
	}
	_ = syscall.Kill(health.Workers[0].PID, syscall.SIGKILL) // it may have ended
	m.fault("kill")
}

func (m *mixed) reload() {
	m.s.Signal(syscall.SIGHUP)
	m.fault("reload")
}

func (m *mixed) shift() {
	share := []int{0, 30, 100}[rand.IntN(3)]
	m.s.Do(http.MethodPost, "/models/chat/traffic", map[string]int{"chat@1": share, "chat@2": 100 - share})
	m.fault("shift")
}

func (m *mixed) fault(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[what]++
}

// everyDoorServes when the faults are over, and no prediction is left.
func (m *mixed) everyDoorServes() {
	for _, door := range m.doors() {
		assert.Eventually(m.t, "a door serves again", func() bool {
			before := len(m.good)
			door()
			return len(m.good) > before
		})
	}
	for _, version := range mixedModels {
		assert.Eventually(m.t, version+" is idle", func() bool {
			var health harness.Health
			a := m.s.Do(http.MethodGet, "/models/"+version+"/health-check", nil)
			if a.Err != nil || json.Unmarshal(a.Body, &health) != nil {
				return false
			}
			for _, w := range health.Workers {
				if w.Busy > 0 {
					return false
				}
			}
			return true
		})
	}
}

// ledgerHas checks that the model ran what was answered.
func (m *mixed) ledgerHas(ledger string) {
	data := assert.Must(os.ReadFile(ledger))(m.t)
	ran := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		ran[strings.TrimSpace(line)] = true
	}
	for _, text := range m.good {
		assert.True(m.t, ran[text], "%.10s was answered and is not in the ledger", text)
	}
	m.t.Logf("%d answers that are right, %d predictions in the ledger", len(m.good), len(ran))
}
