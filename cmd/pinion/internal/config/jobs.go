package config

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/jobqueue/store"
)

// Jobs is the settings of a model's job queue. All its members must have the same.
type Jobs struct {
	NATS           NATS
	replicas       int
	sync           string // a time, or always
	capacity       int64
	bytes          usertext.Bytes
	TenantHeader   string
	tenantCapacity int64
	lanes          int
	Attempts       int
	ackWait        time.Duration
	Overflow       bool
	ReplayPuts     bool // also without a queue
}

const syncAlways = "always"

func (s *Jobs) bindFlags(f *pflag.FlagSet) {
	s.NATS.BindFlags(f)
	s.bytes = 1 << 30
	f.IntVar(&s.replicas, "nats-replicas", 1, "on how many NATS servers each job is stored (PINION_NATS_REPLICAS)")
	f.StringVar(&s.sync, "nats-sync", "2m",
		"how often --nats embed syncs its files to the disk; always: at each job (PINION_NATS_SYNC)")
	f.Int64Var(&s.capacity, "jobs-capacity", 100_000,
		"how many jobs may wait and run; further ones are refused (PINION_JOBS_CAPACITY)")
	f.Var(&s.bytes, "jobs-bytes",
		"disk space that NATS reserves for the bodies of jobs (PINION_JOBS_BYTES; default: 1GiB)")
	f.StringVar(&s.TenantHeader, "tenant-header", "",
		"the request header that names the tenant; its value is trusted, so a proxy must set it (PINION_TENANT_HEADER)")
	f.Int64Var(&s.tenantCapacity, "tenant-capacity", 0,
		"how many jobs of one tenant may wait and run in each class; 0: any number (PINION_TENANT_CAPACITY)")
	f.IntVar(&s.lanes, "lanes", 1, "number of lanes over which the tenants are spread; lanes take turns (PINION_LANES)")
	f.IntVar(&s.Attempts, "attempts", 3,
		"how many times an asynchronous prediction is started in all, if the servers that run it are lost (PINION_ATTEMPTS)")
	f.DurationVar(&s.ackWait, "ack-wait", 30*time.Second,
		"how long a server may be silent before another one gets its job; at least 15s (PINION_ACK_WAIT)")
	f.BoolVar(&s.Overflow, "overflow", false,
		"a synchronous request that finds no slot waits in the job queue, for --queue-timeout at most (PINION_OVERFLOW)")
	f.BoolVar(&s.ReplayPuts, "replay-puts", false,
		"answer a PUT that repeats the id and input of an ended prediction with its result, for --result-ttl (PINION_REPLAY_PUTS)")
}

func (s *Jobs) variables(f *pflag.FlagSet) []Variable {
	return slices.Concat(
		s.NATS.Variables(f),
		variablesOf(f, "nats-sync", "jobs-bytes", "tenant-header", "overflow", "replay-puts", "ack-wait"),
		numbers(f, 1, "nats-replicas", "jobs-capacity", "lanes", "attempts"),
		numbers(f, 0, "tenant-capacity"),
	)
}

// The bounds of a job's settings.
const (
	MinAckWait   = 15 * time.Second // a leader's election took 9 s
	MinJobsBytes = 16 << 20
	MaxLanes     = 64
	MaxReplicas  = 5
	maxResultTTL = 24 * time.Hour
)

func (s *Jobs) check(resultTTL time.Duration) error {
	if err := s.NATS.Check(); err != nil {
		return err
	}
	if _, err := s.SyncInterval(); err != nil {
		return err
	}
	switch {
	case s.Overflow && !s.NATS.On():
		return fmt.Errorf("--overflow needs --nats")
	case s.replicas < 1 || s.replicas > MaxReplicas:
		return fmt.Errorf("--nats-replicas %d: must be 1 to %d", s.replicas, MaxReplicas)
	case s.capacity < 1:
		return fmt.Errorf("--jobs-capacity %d: must be at least 1", s.capacity)
	case s.bytes < MinJobsBytes:
		return fmt.Errorf("--jobs-bytes %d: must be at least 16MiB", s.bytes)
	case strings.ContainsFunc(s.TenantHeader,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }):
		return fmt.Errorf("--tenant-header %q: must be the name of an HTTP header, as X-Tenant", s.TenantHeader)
	case s.tenantCapacity < 0:
		return fmt.Errorf("--tenant-capacity %d: must be at least 0", s.tenantCapacity)
	case s.tenantCapacity > 0 && s.TenantHeader == "":
		return fmt.Errorf("--tenant-capacity %d needs --tenant-header", s.tenantCapacity)
	case s.lanes < 1 || s.lanes > MaxLanes:
		return fmt.Errorf("--lanes %d: must be 1 to %d", s.lanes, MaxLanes)
	case s.Attempts < 1:
		return fmt.Errorf("--attempts %d: must be at least 1", s.Attempts)
	case s.ackWait < MinAckWait:
		return fmt.Errorf("--ack-wait %s: must be at least %s", s.ackWait, MinAckWait)
	}
	return s.checkTTL(resultTTL)
}

// checkTTL refuses a time for results that is longer than the queue keeps them.
func (s *Jobs) checkTTL(resultTTL time.Duration) error {
	if s.NATS.On() && (resultTTL < 2*s.ackWait || resultTTL > maxResultTTL) {
		return fmt.Errorf("--result-ttl %s: with --nats it is %s (twice --ack-wait) to %s", resultTTL, 2*s.ackWait,
			maxResultTTL)
	}
	return nil
}

// SyncInterval returns --nats-sync; 0 means always.
func (s *Jobs) SyncInterval() (every time.Duration, err error) {
	if s.sync == syncAlways {
		return 0, nil
	}
	if usertext.ParseSeconds(&every, s.sync) != nil || every < time.Second {
		return 0, fmt.Errorf("--nats-sync %q: must be a time of at least 1s, or always", s.sync)
	}
	return every, nil
}

// Options returns the options of a model's queue.
func (s *Jobs) Options(title string, resultTTL time.Duration) store.Options {
	return store.Options{
		Keys: s.NATS.Keys, Model: store.QueueName(title), Title: title, Server: memberName(), Replicas: s.replicas,
		Capacity: s.capacity, Bytes: int64(s.bytes),
		TenantCapacity: s.tenantCapacity, Lanes: s.lanes, AckWait: s.ackWait, ResultTTL: resultTTL,
	}
}

// memberName returns the name of this process among the members of a queue: a host may have several, and a container's
// pid is always 1.
func memberName() string {
	host, _ := os.Hostname()
	return host + "-" + rand.Text()[:8]
}
