package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options of a model's queue. All its servers have the same.
type Options struct {
	// Model is the name of the queue; see QueueName.
	Model string
	// Title is the model's own name, if Model is made from it; "" means it is Model. It tells apart two models whose
	// queues would have one name.
	Title string
	// Server is the name of this member; no other has it.
	Server string
	// Replicas is on how many NATS servers everything is stored. Default: 1.
	Replicas int
	// Capacity and Bytes bound the jobs that were accepted and have not ended, and their messages. Defaults: 100 000, 1
	// GiB.
	Capacity, Bytes int64
	// TenantCapacity bounds the jobs of one tenant in each class; 0 means no bound.
	TenantCapacity int64
	// Lanes is over how many lanes the tenants are spread. Default: 1.
	Lanes int
	// AckWait is how long a server without a heartbeat keeps a job. Default: 30 s.
	AckWait time.Duration
	// Host is the NATS server that this process runs for its own jobs alone; nil means NATS runs elsewhere.
	Host Host
	// ResultTTL is how long the state of an ended job is known. Default: 10 min.
	ResultTTL time.Duration

	// Keys seal what is stored; nil means it is stored as it is.
	Keys *Keys
	// Memory bounds the large bodies and results that are read at once; nil means no bound.
	Memory Memory
	// OnWait, if set, is told how long a job waited that begins its first run.
	OnWait func(time.Duration)

	// OrphanAge is how much older than the oldest message a state must be to be an orphan. Clocks may differ, and an
	// admission takes a while. Tests set it.
	OrphanAge time.Duration
}

// Host is a NATS server that a process runs for its own jobs; *natshost.Host is one.
type Host interface {
	// Bytes returns how much the bodies of a queue's jobs may take.
	Bytes(most int64) int64
	// Room says why no more jobs are accepted; nil means there is room on the disk.
	Room() error
	// Revive makes NATS check its store. It is called when NATS did not answer.
	Revive()
}

func (o Options) WithDefaults() Options {
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.Capacity = cmp.Or(o.Capacity, 100_000)
	o.Bytes = cmp.Or(o.Bytes, 1<<30)
	if o.Host != nil {
		o.Bytes = o.Host.Bytes(o.Bytes)
	}
	o.Lanes = cmp.Or(o.Lanes, 1)
	o.AckWait = cmp.Or(o.AckWait, 30*time.Second)
	o.ResultTTL = cmp.Or(o.ResultTTL, 10*time.Minute)
	o.OrphanAge = cmp.Or(o.OrphanAge, time.Minute)
	return o
}

// metaModel is the stream's metadata that has Title.
const metaModel = "pinion_model"

// owner returns the model whose jobs a stream has.
func owner(c jetstream.StreamConfig) string {
	return cmp.Or(c.Metadata[metaModel], strings.TrimPrefix(c.Name, jobsPrefix))
}

func (o Options) metadata() map[string]string {
	if o.Title == "" || o.Title == o.Model {
		return nil
	}
	return map[string]string{metaModel: o.Title}
}

// duplicates is how long JetStream recognises a message that is published twice.
const duplicates = 2 * time.Minute

// Streams returns the streams of a model, in the order in which they are made.
func (o Options) Streams() []jetstream.StreamConfig {
	n := Names{o.Model}
	perTenant, tenants := int64(-1), false
	if o.TenantCapacity > 0 {
		perTenant, tenants = o.TenantCapacity, true
	}
	return []jetstream.StreamConfig{
		{
			Name: n.Jobs(), Subjects: []string{"pinion.job." + o.Model + ".>"}, Metadata: o.metadata(),
			Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: tenants, MaxMsgsPerSubject: perTenant,
			MaxMsgs: o.Capacity, MaxBytes: o.Bytes, Duplicates: duplicates,
		},
		{
			Name: n.Hooks(), Subjects: []string{"pinion.hook." + o.Model + ".*"},
			Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
			Discard: jetstream.DiscardNew, MaxMsgsPerSubject: -1, MaxMsgs: -1, MaxBytes: -1, Duplicates: duplicates,
		},
		{
			Name: n.Dead(), Subjects: []string{"pinion.dead." + o.Model + ".*"},
			Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
			Discard: jetstream.DiscardOld, MaxMsgsPerSubject: -1, MaxMsgs: -1, MaxBytes: -1, MaxAge: 7 * 24 * time.Hour,
			Duplicates: duplicates,
		},
		{
			// A bucket of package jetstream's would answer reads from followers, which may be old.
			Name: n.States(), Subjects: []string{"$KV.pinion_state_" + o.Model + ".>"},
			Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
			Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, Duplicates: duplicates,
			AllowMsgTTL: true, AllowRollup: true, DenyDelete: true,
		},
		o.objects(n.Bodies(), 8*24*time.Hour), // a day longer than dead letters
		o.objects(n.Results(), 25*time.Hour),  // an hour longer than any state
	}
}

// Consumers returns the consumers of the jobs' stream.
func (o Options) Consumers() []jetstream.ConsumerConfig {
	n := Names{o.Model}
	var consumers []jetstream.ConsumerConfig
	for _, class := range Classes {
		for lane := range o.Lanes {
			consumers = append(consumers, o.jobsConsumer(Consumer(class, lane), n.lane(class, lane)))
		}
	}
	return consumers
}

func (o Options) jobsConsumer(name, subjects string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: name, FilterSubject: subjects, AckPolicy: jetstream.AckExplicitPolicy, AckWait: o.AckWait,
		MaxDeliver: -1, MaxAckPending: 1_000_000, MaxWaiting: 65_536,
	}
}

// Sender is the consumer of the webhooks' stream.
const Sender = "send"

// OlderHookWait is the AckWait of sender in a queue that an older server made. It stays until an operator applies
// limits: the older ones that are still there join with no other.
const OlderHookWait = 2 * time.Minute

// OwnConsumer is a consumer and its stream.
type OwnConsumer struct {
	Stream string
	Config jetstream.ConsumerConfig
}

func (o Options) AllConsumers() []OwnConsumer {
	n := Names{o.Model}
	consumers := []OwnConsumer{{n.Hooks(), o.jobsConsumer(Sender, "")}}
	for _, c := range o.Consumers() {
		consumers = append(consumers, OwnConsumer{n.Jobs(), c})
	}
	return consumers
}

// layoutWait is how long a server waits for parts that another one is making.
const layoutWait = 5 * time.Second

// Prepare makes what is missing if the queue was never complete, and compares the rest with what this server would
// make.
func Prepare(ctx context.Context, js jetstream.JetStream, o Options) error {
	end := time.Now().Add(layoutWait)
	for {
		have, err := compare(ctx, js, o)
		switch {
		case err != nil:
			return err
		case len(have.missing) == 0:
			return nil
		}
		NoteProgress(ctx)
		switch {
		case have.unfinished():
			if err := build(ctx, js, o); err != nil {
				return err
			}
		case time.Now().After(end):
			return &MismatchError{Stream: have.missing[0]}
		default: // another server may be making them
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// layoutState is what compare found of a queue.
type layoutState struct {
	missing   []string
	streams   int  // how many there are
	gap       bool // a stream is missing before one that is there
	consumers bool // there are some
	used      bool // a stream has had a message
}

// unfinished reports whether nothing was ever stored in the queue, and its parts can be what a server made that was
// killed on the way: it makes streams in their order, then consumers, then the mark. Else a part was lost, with what
// was in it.
func (f *layoutState) unfinished() bool {
	return !f.used && !f.gap && (!f.consumers || f.streams == StreamCount)
}

// StreamCount is the length of Options.streams.
const StreamCount = 6

// build makes all parts. Two servers may do it at once: a part that is there already and the same is no error.
func build(ctx context.Context, js jetstream.JetStream, o Options) error {
	for _, c := range o.Streams() {
		if _, err := js.CreateStream(ctx, c); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("make the stream %s: %w", c.Name, err)
		}
	}
	for _, c := range o.AllConsumers() {
		if _, err := js.CreateConsumer(ctx, c.Stream, c.Config); err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
			return fmt.Errorf("make the consumer %s: %w", c.Config.Durable, err)
		}
	}
	return mark(ctx, js, o.Model)
}

func MarkKey(model string) string { return "$KV.pinion_state_" + model + ".made" }

// mark stores that all parts have been made, as a key of the bucket that never expires.
func mark(ctx context.Context, js jetstream.JetStream, model string) error {
	m := nats.NewMsg(MarkKey(model))
	_, err := js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0))
	if err != nil && !Conflict(err) {
		return fmt.Errorf("mark the job queue as made: %w", err)
	}
	return nil
}

// compare returns which parts are missing, or how one differs.
func compare(ctx context.Context, js jetstream.JetStream, o Options) (have layoutState, err error) {
	for _, want := range o.Streams() {
		stream, err := js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			have.missing = append(have.missing, "the stream "+want.Name)
			continue
		}
		if err != nil {
			return have, fmt.Errorf("look at the stream %s: %w", want.Name, err)
		}
		info := stream.CachedInfo()
		have.streams++
		have.gap = have.gap || len(have.missing) > 0
		have.used = have.used || info.State.LastSeq > 0
		have.consumers = have.consumers || info.State.Consumers > 0
		if o.Host != nil && want.MaxBytes > 0 { // by what was free when it was made
			want.MaxBytes = info.Config.MaxBytes
		}
		if err := sameStream(info.Config, want); err != nil {
			return have, err
		}
	}
	if len(have.missing) > 0 {
		return have, nil
	}
	if err := enoughLanes(ctx, js, o); err != nil {
		return have, err
	}
	for _, c := range o.AllConsumers() {
		want := c.Config
		consumer, err := js.Consumer(ctx, c.Stream, want.Durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			have.missing = append(have.missing, "the consumer "+want.Durable)
			continue
		}
		if err != nil {
			return have, fmt.Errorf("look at the consumer %s: %w", want.Durable, err)
		}
		config := consumer.CachedInfo().Config
		if want.Durable == Sender && config.AckWait == OlderHookWait {
			want.AckWait = OlderHookWait
		}
		if err := sameConsumer(config, want); err != nil {
			return have, err
		}
	}
	return have, nil
}

// LanesOf counts the lanes of a stream of jobs: all its classes have as many. Further consumers are of versions.
func LanesOf(ctx context.Context, jobs jetstream.Stream, info *jetstream.StreamInfo) (lanes int, err error) {
	if lanes = info.State.Consumers / len(Classes); lanes <= 1 {
		return lanes, nil
	}
	lanes = 0
	consumers := jobs.ListConsumers(ctx)
	for consumer := range consumers.Info() {
		if lane, ok := strings.CutPrefix(consumer.Name, string(Low)+"-"); ok && !strings.HasPrefix(lane, AtVersion) {
			lanes++
		}
	}
	if err := consumers.Err(); err != nil {
		return 0, fmt.Errorf("count lanes: %w", err)
	}
	return lanes, nil
}

// enoughLanes refuses a member whose jobs would wait in lanes that no server serves. The lowest class is made last:
// where it has a lane, no other server is making them now.
func enoughLanes(ctx context.Context, js jetstream.JetStream, o Options) error {
	if o.Lanes == 1 {
		return nil
	}
	stream := Names{o.Model}.Jobs()
	if _, err := js.Consumer(ctx, stream, Consumer(Low, 0)); err != nil {
		return nil //nolint:nilerr // it is missing, or cannot be seen: the caller finds out
	}
	if _, err := js.Consumer(ctx, stream, Consumer(High, o.Lanes-1)); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	jobs, err := js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("look at the stream %s: %w", stream, err)
	}
	have, err := LanesOf(ctx, jobs, jobs.CachedInfo())
	if err != nil {
		return err
	}
	return &MismatchError{"the stream " + stream, "lanes", strconv.Itoa(have), strconv.Itoa(o.Lanes)}
}

// sameConsumer returns how a consumer differs from what it should be, or nil if it does not.
func sameConsumer(have, want jetstream.ConsumerConfig) error {
	return firstDifference("the consumer "+want.Durable, []setting{
		{"ack_wait", have.AckWait, want.AckWait},
		{"ack_policy", have.AckPolicy, want.AckPolicy},
		{"filter_subject", have.FilterSubject, want.FilterSubject},
		{"max_deliver", have.MaxDeliver, want.MaxDeliver},
		{"max_ack_pending", have.MaxAckPending, want.MaxAckPending},
		{"max_waiting", have.MaxWaiting, want.MaxWaiting},
	})
}

// setting is a field of a stream or a consumer, as it is and as it should be.
type setting struct {
	name       string
	have, want any
}

func firstDifference(what string, settings []setting) error {
	for _, f := range settings {
		if f.have != f.want {
			return &MismatchError{what, f.name, fmt.Sprint(f.have), fmt.Sprint(f.want)}
		}
	}
	return nil
}

// sameStream returns how a stream differs from what it should be, or nil if it does not.
func sameStream(have, want jetstream.StreamConfig) error {
	return firstDifference("the stream "+want.Name, []setting{
		{fieldModel, owner(have), owner(want)},
		{"retention", have.Retention, want.Retention},
		{"storage", have.Storage, want.Storage},
		{"num_replicas", have.Replicas, want.Replicas},
		{"discard", have.Discard, want.Discard},
		{"discard_new_per_subject", have.DiscardNewPerSubject, want.DiscardNewPerSubject},
		{"max_msgs", have.MaxMsgs, want.MaxMsgs},
		{"max_msgs_per_subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject},
		{"max_bytes", have.MaxBytes, want.MaxBytes},
		{"max_age", have.MaxAge, want.MaxAge},
		{"allow_msg_ttl", have.AllowMsgTTL, want.AllowMsgTTL},
		{"allow_direct", have.AllowDirect, want.AllowDirect},
		{"duplicate_window", have.Duplicates, want.Duplicates},
		{"subjects", fmt.Sprint(have.Subjects), fmt.Sprint(want.Subjects)},
	})
}

// MakeVersionConsumers makes the consumers of a version, where they are missing.
func (q *Store) MakeVersionConsumers(ctx context.Context, version string) (consumers []jetstream.Consumer, err error) {
	for _, config := range q.Options.versionConsumers(version) {
		consumer, err := q.Jobs.CreateOrUpdateConsumer(ctx, config)
		if err != nil {
			return nil, fmt.Errorf("make the consumer %s: %w", config.Durable, err)
		}
		consumers = append(consumers, consumer)
	}
	return consumers, nil
}

// versionConsumers returns the consumers of the jobs that name a version of the model.
func (o Options) versionConsumers(version string) (consumers []jetstream.ConsumerConfig) {
	for _, class := range Classes {
		c := o.jobsConsumer(versionConsumer(version, class), Names{o.Model}.versionClass(version, class)+">")
		c.InactiveThreshold = versionKept
		consumers = append(consumers, c)
	}
	return consumers
}

// versionKept is for how long the consumers and the schema of a version are kept that no server has: as long as the
// bodies of jobs.
const versionKept = 8 * 24 * time.Hour
