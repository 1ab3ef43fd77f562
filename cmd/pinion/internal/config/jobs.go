package config

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/state"
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

// settings returns the settings; help and byDefault are those of --nats.
func (s *Jobs) settings(help, byDefault string) usertext.Settings {
	alone := func() string { return when(!s.NATS.On(), "without --nats") }
	return append(s.NATS.Settings(help, byDefault), usertext.Settings{
		{
			To: &s.replicas, Name: "nats-replicas", Init: 1, Min: 1, Max: MaxReplicas, Group: usertext.GroupJobs, Idle: alone,
			Help: "on how many NATS servers each job is stored",
		},
		{
			To: &s.sync, Name: "nats-sync", Init: "2m", Group: usertext.GroupJobs, Parse: parseSync,
			Help: "how often --nats embed syncs its files to the disk; always: at each job",
			Idle: func() string {
				_, embedded := s.NATS.Embeds()
				return when(!embedded, "without --nats embed")
			},
		},
		{
			To: &s.capacity, Name: "jobs-capacity", Init: 100_000, Min: 1, Group: usertext.GroupJobs, Idle: alone,
			Help: "how many jobs may wait and run; further ones are refused",
		},
		{
			To: &s.bytes, Name: "jobs-bytes", Init: "1GiB", Group: usertext.GroupJobs, Idle: alone,
			Help: "disk space that NATS reserves for the bodies of jobs",
		},
		{
			To: &s.TenantHeader, Name: "tenant-header", Group: usertext.GroupJobs, Parse: parseHeaderName, Idle: alone,
			Help: "the request header that names the tenant; its value is trusted, so a proxy must set it",
		},
		{
			To: &s.tenantCapacity, Name: "tenant-capacity", Group: usertext.GroupJobs,
			Help: "how many jobs of one tenant may wait and run in each class; 0: any number",
		},
		{
			To: &s.lanes, Name: "lanes", Init: 1, Min: 1, Max: MaxLanes, Group: usertext.GroupPredictions, Idle: alone,
			Help: "number of lanes over which the tenants are spread; lanes take turns",
		},
		{
			To: &s.Attempts, Name: "attempts", Init: 3, Min: 1, Group: usertext.GroupJobs, Idle: alone,
			Help: "how many times an asynchronous prediction is started in all, if the servers that run it are lost",
		},
		{
			To: &s.ackWait, Name: "ack-wait", Init: 30 * time.Second, Min: int64(MinAckWait), Group: usertext.GroupJobs, Idle: alone,
			Help: "how long a server may be silent before another one gets its job; at least 15s",
		},
		{
			To: &s.Overflow, Name: "overflow", Group: usertext.GroupPredictions,
			Help: "a synchronous request that finds no slot waits in the job queue, for --queue-timeout at most",
		},
		{
			To: &s.ReplayPuts, Name: "replay-puts", Group: usertext.GroupPredictions,
			Help: "answer a PUT that repeats the id and input of an ended prediction with its result, for --result-ttl",
		},
	}...)
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
	switch {
	case s.Overflow && !s.NATS.On():
		return fmt.Errorf("--overflow needs --nats")
	case s.tenantCapacity > 0 && s.TenantHeader == "":
		return fmt.Errorf("--tenant-capacity %d needs --tenant-header", s.tenantCapacity)
	}
	return cmp.Or(s.checkBytes(), s.checkTTL(resultTTL))
}

// checkTTL refuses a time for results that is longer than the queue keeps them.
func (s *Jobs) checkTTL(resultTTL time.Duration) error {
	if s.NATS.On() && (resultTTL < 2*s.ackWait || resultTTL > maxResultTTL) {
		return fmt.Errorf("--result-ttl %s: with --nats it is %s (twice --ack-wait) to %s", resultTTL, 2*s.ackWait,
			maxResultTTL)
	}
	return nil
}

// Limits returns the settings of a queue that can be changed in place.
func (s *Jobs) Limits() (list usertext.Settings) {
	all := s.settings("", "")
	for _, to := range []any{&s.capacity, &s.bytes, &s.tenantCapacity, &s.replicas, &s.lanes, &s.ackWait} {
		limit := *all.Of(to)
		limit.Init, limit.Variable, limit.Default, limit.Idle = nil, usertext.NoVariable, "as it is", nil
		if to == &s.lanes {
			limit.Help += "; cannot be lowered"
		}
		list = append(list, limit)
	}
	return list
}

// Changes returns the limits that were given.
func (s *Jobs) Changes(list usertext.Settings) (l admin.Limits, err error) {
	bytes := int64(s.bytes)
	for to, set := range map[any]func(){
		&s.capacity: func() { l.Capacity = &s.capacity }, &s.bytes: func() { l.Bytes = &bytes },
		&s.tenantCapacity: func() { l.TenantCapacity = &s.tenantCapacity }, &s.replicas: func() { l.Replicas = &s.replicas },
		&s.lanes: func() { l.Lanes = &s.lanes }, &s.ackWait: func() { l.AckWait = &s.ackWait },
	} {
		if list.Given(to) {
			set()
		}
	}
	switch {
	case l == (admin.Limits{}):
		return l, errors.New("nothing to apply: give a limit, as --jobs-capacity 200000")
	case l.Bytes != nil:
		return l, s.checkBytes()
	}
	return l, nil
}

func (s *Jobs) checkBytes() error {
	if s.bytes < MinJobsBytes {
		return fmt.Errorf("--jobs-bytes %d: must be at least 16MiB", s.bytes)
	}
	return nil
}

// parseSync refuses what is neither a time nor always.
func parseSync(v string) (string, error) {
	var every time.Duration
	if v != syncAlways && (usertext.ParseSeconds(&every, v) != nil || every < time.Second) {
		return "", fmt.Errorf("%q: must be a time of at least 1s, or always", v)
	}
	return v, nil
}

func parseHeaderName(v string) (string, error) {
	if strings.ContainsFunc(v,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }) {
		return "", fmt.Errorf("%q: must be the name of an HTTP header, as X-Tenant", v)
	}
	return v, nil
}

// SyncInterval returns how often an embedded server syncs its files; 0 means always.
func (s *Jobs) SyncInterval() (every time.Duration) {
	if s.sync != syncAlways {
		_ = usertext.ParseSeconds(&every, s.sync) // which parseSync has checked
	}
	return every
}

// Options returns the options of a model's queue.
func (s *Jobs) Options(title string, resultTTL time.Duration) state.Options {
	return state.Options{
		Keys: s.NATS.Keys, Model: state.QueueName(title), Title: title, Server: memberName(), Replicas: s.replicas,
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
