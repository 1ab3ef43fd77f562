package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// closed measures clients that wait for their jobs at a gateway, each with its next job after its answer, and what CPU
// time a job takes in each process.
func (b *bench) closed() error {
	gateway, err := b.gateway(natsURL, "m", "--jobs-capacity", strconv.Itoa(queueCapacity))
	if err != nil {
		return err
	}
	defer gateway.end()
	processes := []struct {
		name string
		pids []int
	}{
		{"gateway", []int{gateway.cmd.Process.Pid}},
		{"servers", []int{b.on.cmd.Process.Pid, b.to.cmd.Process.Pid}},
		{"workers", append(children(b.on.cmd.Process.Pid), children(b.to.cmd.Process.Pid)...)},
		{"NATS", []int{b.nats.cmd.Process.Pid}},
	}
	for _, clients := range []int{1, b.clients} {
		var durations []time.Duration
		var mu sync.Mutex
		runJob := func() error {
			began := time.Now()
			code, text, err := do(http.MethodPost, gateway.url+"/predictions", nothing)
			if err == nil && code != http.StatusOK {
				err = fmt.Errorf("%d %s", code, text)
			}
			mu.Lock()
			defer mu.Unlock()
			durations = append(durations, time.Since(began))
			return err
		}
		loop := *b
		loop.clients = clients
		var rates []float64
		var used [4]time.Duration
		for round := range b.rounds + 1 {
			if round == 1 { // the first was to warm up
				durations, rates = nil, nil
				for i, p := range processes {
					used[i] = cpu(p.pids)
				}
			}
			rate, err := loop.rate(runJob)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		what := fmt.Sprintf("%d clients that wait at a gateway", clients)
		fmt.Printf("%-44s %.0f/s\n", what, median(rates))
		for i, p := range processes {
			each := (cpu(p.pids) - used[i]) / time.Duration(len(durations))
			fmt.Printf("%-44s %s\n", "  CPU time of a job, "+p.name, each.Round(time.Microsecond))
		}
		show(what, durations)
	}
	return nil
}

// cpu returns the CPU time that processes have used.
func cpu(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, at := range []int{11, 12} { // in user space and in the kernel, in hundredths of a second
			if at < len(fields) {
				ticks, _ := strconv.Atoi(fields[at])
				sum += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// children returns the processes that a process has started.
func children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	return pids
}
