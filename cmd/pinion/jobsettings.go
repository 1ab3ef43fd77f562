package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/option"
	"pinion/runtime/jobs"
)

// jobSettings say what the job queue of a model is like. All its members must have the same.
type jobSettings struct {
	nats           natsSettings
	replicas       int
	sync           string // a time, or always
	capacity       int64
	bytes          option.Bytes
	tenantHeader   string
	tenantCapacity int64
	lanes          int
	attempts       int
	ackWait        time.Duration
	overflow       bool
}

const syncAlways = "always"

func (s *jobSettings) bindFlags(f *pflag.FlagSet) {
	s.nats.bindFlags(f)
	s.bytes = 1 << 30
	f.IntVar(&s.replicas, "nats-replicas", 1, "on how many NATS servers each job is stored (PINION_NATS_REPLICAS)")
	f.StringVar(&s.sync, "nats-sync", "2m", "how often --nats embed writes through to the disk, or always: with each job (PINION_NATS_SYNC)")
	f.Int64Var(&s.capacity, "jobs-capacity", 100_000, "how many jobs may wait and run; one more is refused (PINION_JOBS_CAPACITY)")
	f.Var(&s.bytes, "jobs-bytes", "memory for the bodies of jobs at NATS, which reserves it (PINION_JOBS_BYTES; default: 1GiB)")
	f.StringVar(&s.tenantHeader, "tenant-header", "", "the request header that names the tenant; it is believed (PINION_TENANT_HEADER)")
	f.Int64Var(&s.tenantCapacity, "tenant-capacity", 0, "how many jobs of one tenant may wait and run in each class; 0: any number (PINION_TENANT_CAPACITY)")
	f.IntVar(&s.lanes, "lanes", 1, "over how many lanes the tenants are spread, which take turns (PINION_LANES)")
	f.IntVar(&s.attempts, "attempts", 3, "how often an asynchronous prediction runs whose servers are lost (PINION_ATTEMPTS)")
	f.DurationVar(&s.ackWait, "ack-wait", 30*time.Second, "how long a server that is silent keeps a job, at least 15s (PINION_ACK_WAIT)")
	f.BoolVar(&s.overflow, "overflow", false, "a synchronous request that finds no slot waits in the job queue, for --queue-timeout at most (PINION_OVERFLOW)")
}

func (s *jobSettings) variables() []ourVariable {
	return append(s.nats.variables(), []ourVariable{
		{"nats-replicas", "PINION_NATS_REPLICAS", func(v string) error { return option.Int(&s.replicas, v, 1) }},
		{"nats-sync", "PINION_NATS_SYNC", func(v string) error { s.sync = v; return nil }},
		{"jobs-capacity", "PINION_JOBS_CAPACITY", func(v string) error { return option.Int64(&s.capacity, v, 1) }},
		{"jobs-bytes", "PINION_JOBS_BYTES", s.bytes.Set},
		{"tenant-header", "PINION_TENANT_HEADER", func(v string) error { s.tenantHeader = v; return nil }},
		{"tenant-capacity", "PINION_TENANT_CAPACITY", func(v string) error { return option.Int64(&s.tenantCapacity, v, 0) }},
		{"lanes", "PINION_LANES", func(v string) error { return option.Int(&s.lanes, v, 1) }},
		{"attempts", "PINION_ATTEMPTS", func(v string) error { return option.Int(&s.attempts, v, 1) }},
		{"overflow", "PINION_OVERFLOW", func(v string) error { return option.Bool(&s.overflow, v) }},
		{"ack-wait", "PINION_ACK_WAIT", func(v string) error { return option.Seconds(&s.ackWait, v) }},
	}...)
}

// The bounds of a job's settings.
const (
	leastAckWait   = 15 * time.Second // a leader's election took 9 s
	leastJobsBytes = 16 << 20
	mostLanes      = 64
	mostReplicas   = 5
	mostResultTTL  = 24 * time.Hour
)

// check refuses what no flag may say.
func (s *jobSettings) check(resultTTL time.Duration) error {
	if err := s.nats.check(); err != nil {
		return err
	}
	if _, err := s.syncInterval(); err != nil {
		return err
	}
	switch {
	case s.overflow && !s.nats.on():
		return fmt.Errorf("--overflow needs --nats")
	case s.replicas < 1 || s.replicas > mostReplicas:
		return fmt.Errorf("--nats-replicas %d: it is 1 to %d", s.replicas, mostReplicas)
	case s.capacity < 1:
		return fmt.Errorf("--jobs-capacity %d: it is at least 1", s.capacity)
	case s.bytes < leastJobsBytes:
		return fmt.Errorf("--jobs-bytes %d: it is at least 16MiB", s.bytes)
	case s.tenantCapacity < 0:
		return fmt.Errorf("--tenant-capacity %d: it is at least 0", s.tenantCapacity)
	case s.tenantCapacity > 0 && s.tenantHeader == "":
		return fmt.Errorf("--tenant-capacity %d needs --tenant-header", s.tenantCapacity)
	case s.lanes < 1 || s.lanes > mostLanes:
		return fmt.Errorf("--lanes %d: it is 1 to %d", s.lanes, mostLanes)
	case s.attempts < 1:
		return fmt.Errorf("--attempts %d: it is at least 1", s.attempts)
	case s.ackWait < leastAckWait:
		return fmt.Errorf("--ack-wait %s: it is at least %s", s.ackWait, leastAckWait)
	case s.nats.on() && (resultTTL < 2*s.ackWait || resultTTL > mostResultTTL):
		return fmt.Errorf("--result-ttl %s: with --nats it is %s (twice --ack-wait) to %s", resultTTL, 2*s.ackWait, mostResultTTL)
	}
	return nil
}

// syncInterval is --nats-sync; 0: always.
func (s *jobSettings) syncInterval() (every time.Duration, err error) {
	if s.sync == syncAlways {
		return 0, nil
	}
	if option.Seconds(&every, s.sync) != nil || every < time.Second {
		return 0, fmt.Errorf("--nats-sync %q: it is a time of at least 1s, or always", s.sync)
	}
	return every, nil
}

// options are those of the queue.
func (s *jobSettings) options(modelName string, resultTTL time.Duration) jobs.Options {
	return jobs.Options{
		Embedded: s.nats.embedded, Keys: s.nats.keys, Model: modelName, Server: memberName(), Replicas: s.replicas, Capacity: s.capacity, Bytes: int64(s.bytes),
		TenantCapacity: s.tenantCapacity, Lanes: s.lanes, AckWait: s.ackWait, ResultTTL: resultTTL,
	}
}

// memberName is the name of this process among the members of a queue: a host may have several, and a container's pid is always 1.
func memberName() string {
	host, _ := os.Hostname()
	return host + "-" + rand.Text()[:8]
}
