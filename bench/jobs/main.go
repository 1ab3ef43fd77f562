package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// envNATS makes this program the NATS server of a measurement: its value is a natsServer in JSON.
const envNATS = "BENCH_JOBS_NATS"

// natsPort is where NATS listens. It is fixed, because a port that NATS chose would have to be found out, and below those
// that the kernel gives to connections.
const natsPort = 29219

var natsURL = fmt.Sprintf("nats://127.0.0.1:%d", natsPort)

func main() {
	if text := os.Getenv(envNATS); text != "" {
		serveNATS(text)
		return
	}
	if text := os.Getenv(envBare); text != "" {
		fmt.Fprintln(os.Stderr, runBare(text))
		os.Exit(1)
	}
	b := &bench{}
	only := flag.String("only", "",
		"measure this alone: waiting, direct, added, canceled, tokens, balanced, closed or rates")
	flag.StringVar(&b.binary, "binary", "bin/pinion", "the binary to measure")
	flag.StringVar(&b.python, "python", "", "its Python")
	flag.IntVar(&b.clients, "clients", 64, "clients at once")
	flag.IntVar(&b.jobs, "jobs", 100000, "jobs that wait at once")
	flag.IntVar(&b.places, "places", 16, "places of each server")
	flag.DurationVar(&b.round, "round", 3*time.Second, "how long a round lasts")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of each")
	servers := flag.Int("servers", 1, "servers of NATS: with several, only their rates are measured, beside those of one")
	flag.Parse()
	if err := b.run(*only, *servers); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

// natsServer is a server of NATS.
type natsServer struct {
	Name, Dir string
	Port      int
	Cluster   int   // port; 0 means it stands alone
	Routes    []int // the ports of the cluster's servers
}

// serveNATS runs NATS until its parent ends it.
func serveNATS(text string) {
	var n natsServer
	err := json.Unmarshal([]byte(text), &n)
	o := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, JetStream: true, StoreDir: n.Dir, NoSigs: true,
	}
	if n.Cluster != 0 {
		o.Cluster = server.ClusterOpts{Name: "bench", Host: "127.0.0.1", Port: n.Cluster}
		for _, port := range n.Routes {
			o.Routes = append(o.Routes, server.RoutesFromStr(fmt.Sprintf("nats://127.0.0.1:%d", port))...)
		}
	}
	var s *server.Server
	if err == nil {
		s, err = server.NewServer(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	s.Shutdown()
}

// bench is one measurement.
type bench struct {
	binary, python  string
	clients, rounds int
	places, jobs    int
	round           time.Duration

	dir         string
	off, on, to *process // without NATS; with it; another with it
	nats        *process
}

// queueCapacity is the --jobs-capacity of all.
const queueCapacity = 1_000_000

// run measures all, or only what has that name.
func (b *bench) run(only string, servers int) (err error) {
	if b.dir, err = os.MkdirTemp("", "bench-jobs-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "run.py"), []byte(model), 0o644); err != nil {
		return err
	}
	if servers > 1 {
		return b.beside(servers)
	}
	if only == "" || only == "waiting" {
		if err := b.waiting(); err != nil || only != "" {
			return err
		}
	}
	nats, err := b.startNATS("nats")
	if err != nil {
		return err
	}
	defer nats.end()
	b.nats = nats
	queue := []string{"--nats", natsURL, "--model", "m", "--jobs-capacity", strconv.Itoa(queueCapacity)}
	for _, p := range []struct {
		to   **process
		args []string
	}{{&b.off, nil}, {&b.on, queue}, {&b.to, queue}} {
		if *p.to, err = b.serve(p.args...); err != nil {
			return err
		}
		defer (*p.to).end()
	}
	found := false
	for _, m := range []struct {
		name    string
		measure func() error
	}{
		{"direct", b.direct},
		{"added", b.added},
		{"canceled", b.canceled},
		{"tokens", b.tokens},
		{"balanced", b.balanced},
		{"closed", b.closed},
		{"rates", b.rates},
	} {
		if only != "" && only != m.name {
			continue
		}
		found = true
		if err := m.measure(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if !found {
		return fmt.Errorf("-only is %q: see -help", only)
	}
	return nil
}

// model returns its input, sleeps, or yields the time.
const model = `import asyncio
import time
from collections.abc import AsyncIterator

import cog


@cog.streaming
async def run(sleep: float = 0, n: int = 0) -> AsyncIterator[int]:
    if sleep:
        await asyncio.sleep(sleep)
    for _ in range(n):
        await asyncio.sleep(0.005)
        yield time.time_ns()
`

// show prints a distribution of times.
func show(what string, durations []time.Duration) {
	slices.Sort(durations)
	at := func(q float64) time.Duration {
		return durations[int(q*float64(len(durations)-1))].Round(10 * time.Microsecond)
	}
	fmt.Printf("%-44s p50 %8s  p99 %8s  max %8s  (%d)\n", what, at(.5), at(.99), at(1), len(durations))
}

// median returns the median of values.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
