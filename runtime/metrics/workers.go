package metrics

import (
	"cmp"
	"maps"
	"slices"
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

// workers are the counters of worker processes.
type workers struct {
	starts   counter
	setAside counter
	exits    table[string, counter]
}

func (w *workers) init(causes []string) {
	for _, cause := range causes {
		w.exits.add(cause, maxExits, newCounter[string])
	}
}

// WorkerStarted records the start of a worker process.
func (s *Set) WorkerStarted() { s.workers.starts.Add(1) }

// WorkerSetAside records that a worker gets no work for a while, because its answers were invalid.
func (s *Set) WorkerSetAside() { s.workers.setAside.Add(1) }

// WorkerExited records the exit of a worker process, and its cause: one of Options.ExitCauses, or another word.
func (s *Set) WorkerExited(cause string) {
	if c := s.workers.exits.add(strings.Clone(cause), maxExits, newCounter[string]); c != nil {
		c.Add(1)
	}
}

// write adds the workers to the page.
func (w *workers) write(p *page, now []Worker, setsAside bool) {
	p.family("pinion_workers", typeGauge, "Worker processes by state.")
	for _, state := range WorkerStates {
		n := 0
		for _, worker := range now {
			if worker.State == state {
				n++
			}
		}
		p.float("pinion_workers", labels("state", state), float64(n))
	}
	p.family("pinion_worker_starts_total", typeCounter, "Worker processes started.")
	p.count("pinion_worker_starts_total", "", w.starts.Load())
	p.family("pinion_worker_exits_total", typeCounter, "Worker processes ended, by cause.")
	exits := w.exits.snapshot()
	for _, cause := range slices.SortedFunc(maps.Keys(exits), cmp.Compare[string]) {
		p.count("pinion_worker_exits_total", labels("cause", cause), exits[cause].Load())
	}
	if setsAside {
		p.family("pinion_workers_set_aside_total", typeCounter, "Times that a worker was given nothing for a while, for it answered wrongly.")
		p.count("pinion_workers_set_aside_total", "", w.setAside.Load())
	}
	w.each(p, now)
}

// each adds the series of each worker. Without a process there is no sample.
func (w *workers) each(p *page, now []Worker) {
	processes := make([]process, len(now))
	for i, worker := range now {
		if worker.PID > 0 {
			processes[i] = readProcess(strconv.Itoa(worker.PID))
		}
	}
	for _, f := range []struct {
		name, kind, help string
		of               func(i int) (float64, bool)
	}{
		{"pinion_worker_setup_seconds", typeGauge, "Time that the newest setup took.", func(i int) (float64, bool) {
			return now[i].Setup.Seconds(), now[i].Setup > 0
		}},
		{"pinion_worker_memory_bytes", typeGauge, "Resident memory of the worker's process.", func(i int) (float64, bool) {
			return processes[i].resident, processes[i].ok
		}},
		{"pinion_worker_cpu_seconds_total", typeCounter, "CPU time of the worker's process, without its children's.", func(i int) (float64, bool) {
			return processes[i].cpu, processes[i].ok
		}},
	} {
		begun := false
		for i := range now {
			v, ok := f.of(i)
			if !ok {
				continue
			}
			if !begun {
				begun = true
				p.family(f.name, f.kind, f.help)
			}
			p.float(f.name, labels("worker", strconv.Itoa(i)), v)
		}
	}
}

// writeGPUs adds the GPUs.
func writeGPUs(p *page, gpus []GPU) {
	if len(gpus) == 0 {
		return
	}
	p.family("pinion_gpu_memory_used_bytes", typeGauge, "Memory in use on the GPU, by all processes.")
	for _, g := range gpus {
		p.float("pinion_gpu_memory_used_bytes", labels("gpu", g.Name), float64(g.MemoryUsed))
	}
	begun := false
	for _, g := range gpus {
		if g.Utilization < 0 {
			continue
		}
		if !begun {
			begun = true
			p.family("pinion_gpu_utilization_ratio", typeGauge, "Part of the time in which the GPU had work, 0 to 1.")
		}
		p.float("pinion_gpu_utilization_ratio", labels("gpu", g.Name), g.Utilization)
	}
}
