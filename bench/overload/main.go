package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// setting is what is measured.
type setting struct {
	binary, python, address string
	workers, queue          int
	times                   float64
	length, predictTime     time.Duration
	stolen                  float64 // the part of the machine's CPU time that its host gave to others meanwhile
}

func main() {
	s := setting{}
	seconds := flag.Float64("seconds", 60,
		"how long the overload lasts; the peak is measured for a third of it before, and a third after")
	flag.StringVar(&s.binary, "binary", "bin/pinion", "the server")
	flag.StringVar(&s.python, "python", "", "its interpreter (default: the server's choice)")
	flag.StringVar(&s.address, "address", "127.0.0.1:15077", "where it listens")
	flag.IntVar(&s.workers, "workers", 2, "its workers")
	flag.IntVar(&s.queue, "queue", 16, "how many may wait")
	flag.Float64Var(&s.times, "times", 10, "how much more than the peak is asked for")
	flag.DurationVar(&s.predictTime, "takes", 5*time.Millisecond, "how long a prediction takes")
	flag.Parse()
	s.length = time.Duration(*seconds * float64(time.Second))
	debug.SetGCPercent(-1) // a collection here would be taken for a slow refusal
	debug.SetMemoryLimit(1 << 30)
	result, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(2)
	}
	os.Exit(int(result))
}

// run starts the server, measures, prints, and ends it.
func (s setting) run() (result outcome, err error) {
	arguments := []string{
		"serve", "bench/models/wait", "--predictor", "run.py:Runner", "--log-level", "error",
		"--workers", strconv.Itoa(s.workers), "--queue", strconv.Itoa(s.queue),
	}
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return 0, fmt.Errorf("read address: %w", err)
	}
	arguments = append(arguments, "--host", host, "--port", port)
	if s.python != "" {
		arguments = append(arguments, "--python", s.python)
	}
	server := exec.Command(s.binary, arguments...)
	server.Stdout, server.Stderr = os.Stderr, os.Stderr
	if err := server.Start(); err != nil {
		return 0, fmt.Errorf("start server: %w", err)
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = server.Wait()
	}()
	places := s.workers + s.queue
	l := newLoad(s)
	if err := l.ready(); err != nil {
		return 0, err
	}
	total, stolen := cpuTime()
	l.closed(places, s.length/20) // warm
	peak := l.closed(places, s.length/3)
	overload := l.open(peak.rate()*s.times, s.length)
	peak.add(l.closed(places, s.length/3)) // or a machine that became slower meanwhile would be the server's fault
	allNow, stolenNow := cpuTime()
	s.stolen = (stolenNow - stolen) / max(allNow-total, 1)
	return report(os.Stdout, s, peak, overload), nil
}
