package metrics

import (
	"strconv"
	"strings"
)

// Why a worker process exited.
const (
	ExitSetup = "setup" // before it was ready
	ExitCrash = "crash" // unexpectedly
	ExitLeft  = "left"  // as requested: for a successor, or with the server
)

// maxExits bounds the causes, which only this server's code sets.
const maxExits = 32

type workers struct {
	starts   counter
	setAside counter
	exits    table[string, counter]
}

func (w *workers) init(causes []string) {
	for _, cause := range causes {
		w.exits.add(cause, maxExits, nil)
	}
}

func (s *Set) WorkerStarted() { s.workers.starts.Add(1) }

// WorkerSetAside records that a worker gets no work for a while, because its answers were invalid.
func (s *Set) WorkerSetAside() { s.workers.setAside.Add(1) }

// WorkerExited records the exit of a worker process, and its cause: one of Options.ExitCauses, or another word.
func (s *Set) WorkerExited(cause string) {
	if c := s.workers.exits.add(strings.Clone(cause), maxExits, nil); c != nil {
		c.Add(1)
	}
}

func (w *workers) gather(g *gathered, now []Worker, setsAside bool) {
	g.family("pinion_workers", Gauge, "Worker processes by state.")
	for _, state := range WorkerStates {
		n := 0
		for _, worker := range now {
			if worker.State == state {
				n++
			}
		}
		g.value(float64(n), "state", state)
	}
	g.counter("pinion_worker_starts_total", "Worker processes started.", w.starts.Load())
	g.family("pinion_worker_exits_total", Counter, "Worker processes ended, by cause.")
	for cause, n := range w.exits.snapshot() {
		g.value(float64(n.Load()), "cause", cause)
	}
	g.sort()
	if setsAside {
		g.counter("pinion_workers_suspended_total",
			"Times that a worker was suspended because it answered wrongly.", w.setAside.Load())
	}
	w.each(g, now)
}

// each adds the series of each worker. Without a process there is no sample.
func (w *workers) each(g *gathered, now []Worker) {
	processes := make([]process, len(now))
	var ranks []rank
	for i, worker := range now {
		if worker.PID > 0 {
			processes[i] = readProcess(strconv.Itoa(worker.PID))
		}
		for n, pid := range worker.Ranks {
			ranks = append(ranks, rank{readProcess(strconv.Itoa(pid)), strconv.Itoa(i), strconv.Itoa(n)})
		}
	}
	gatherRanks(g, ranks)
	for _, f := range []struct {
		name string
		kind Kind
		help string
		of   func(i int) (float64, bool)
	}{
		{"pinion_worker_setup_seconds", Gauge, "Time that the newest setup took.", func(i int) (float64, bool) {
			return now[i].Setup.Seconds(), now[i].Setup > 0
		}},
		{"pinion_worker_memory_bytes", Gauge, "Resident memory of the worker's process.", func(i int) (float64, bool) {
			return processes[i].resident, processes[i].ok
		}},
		{
			"pinion_worker_cpu_seconds_total", Counter, "CPU time of the worker's process, without its children's.",
			func(i int) (float64, bool) {
				return processes[i].cpu, processes[i].ok
			},
		},
	} {
		gatherEach(g, f.name, f.kind, f.help, len(now), func(i int) (v float64, known bool, label Label) {
			v, known = f.of(i)
			return v, known, Label{"worker", strconv.Itoa(i)}
		})
	}
}

// rank is one process of a group.
type rank struct {
	process
	worker, number string
}

// gatherRanks adds the processes of groups.
func gatherRanks(g *gathered, ranks []rank) {
	for _, f := range []struct {
		name string
		kind Kind
		help string
		of   func(rank) float64
	}{
		{"pinion_rank_memory_bytes", Gauge, "Resident memory of each rank of a worker.", func(r rank) float64 { return r.resident }},
		{"pinion_rank_cpu_seconds_total", Counter, "CPU time of each rank of a worker, without its children's.", func(r rank) float64 { return r.cpu }},
	} {
		g.family(f.name, f.kind, f.help)
		for _, r := range ranks {
			if r.ok {
				g.value(f.of(r), "worker", r.worker, "rank", r.number)
			}
		}
		g.dropEmpty()
	}
}

// gatherGPUs adds the GPUs. What is not known of a GPU has no sample.
func gatherGPUs(g *gathered, gpus []GPU) {
	for _, f := range []struct {
		name, help string
		of         func(GPU) (v float64, known bool)
	}{
		{"pinion_gpu_memory_used_bytes", "Memory in use on the GPU, by all processes.", func(gpu GPU) (float64, bool) {
			return float64(gpu.MemoryUsed), true
		}},
		{"pinion_gpu_memory_total_bytes", "Memory of the GPU.", func(gpu GPU) (float64, bool) {
			return float64(gpu.MemoryTotal), gpu.MemoryTotal > 0
		}},
		{
			"pinion_gpu_utilization_ratio", "Part of the time in which the GPU was busy, 0 to 1.",
			func(gpu GPU) (float64, bool) {
				return gpu.Utilization, gpu.Utilization >= 0
			},
		},
	} {
		gatherEach(g, f.name, Gauge, f.help, len(gpus), func(i int) (v float64, known bool, label Label) {
			v, known = f.of(gpus[i])
			return v, known, Label{"gpu", gpus[i].Name}
		})
	}
}

// gatherEach adds a family with a sample for each of n things; without a known one it adds nothing.
func gatherEach(g *gathered, name string, kind Kind, help string, n int,
	of func(i int) (v float64, known bool, label Label),
) {
	g.family(name, kind, help)
	for i := range n {
		if v, known, label := of(i); known {
			g.value(v, label.Name, label.Value)
		}
	}
	g.dropEmpty()
}
