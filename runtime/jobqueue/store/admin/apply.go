package admin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// Limits are new settings of a queue; nil leaves a setting as it is.
type Limits struct {
	Capacity, Bytes, TenantCapacity *int64
	Replicas, Lanes                 *int
	AckWait                         *time.Duration
}

// Change is a setting that Apply has changed.
type Change struct {
	What   string `json:"what"`
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// LimitError is a limit that a queue cannot have now.
type LimitError struct {
	Field string // a field of the stream, or lanes
	Want  string
	Why   string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s cannot be %s: %s", e.Field, e.Want, e.Why)
}

// Apply changes the settings of a queue in place, and returns what has changed.
func (a *Admin) Apply(ctx context.Context, l Limits) ([]Change, error) {
	lanes, err := a.checkLimits(ctx, &l)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, stream := range a.Q.State.Options.Streams() {
		if err := a.applyStream(ctx, stream.Name, &l, &changes); err != nil {
			return changes, err
		}
	}
	o := a.Q.State.Options
	if o.Lanes = lanes; l.Lanes != nil {
		o.Lanes = *l.Lanes
	}
	first, err := a.Q.State.Jobs.Consumer(ctx, state.Consumer(state.High, 0))
	if err != nil {
		return changes, fmt.Errorf("look at the consumer %s: %w", state.Consumer(state.High, 0), err)
	}
	if o.AckWait = first.CachedInfo().Config.AckWait; l.AckWait != nil {
		o.AckWait = *l.AckWait
	}
	for _, want := range o.AllConsumers() {
		if err := a.applyConsumer(ctx, want, &changes); err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// checkLimits refuses what would strand jobs, and returns how many lanes there are.
func (a *Admin) checkLimits(ctx context.Context, l *Limits) (lanes int, err error) {
	info, err := a.Q.State.Jobs.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at the stream %s: %w", a.Q.State.Names.Jobs(), err)
	}
	if lanes, err = state.LanesOf(ctx, a.Q.State.Jobs, info); err != nil {
		return 0, err
	}
	lanes = max(1, lanes)
	switch {
	case l.Capacity != nil && uint64(*l.Capacity) < info.State.Msgs:
		return 0, &LimitError{
			"max_msgs", strconv.FormatInt(*l.Capacity, 10),
			fmt.Sprintf("%d jobs are stored", info.State.Msgs),
		}
	case l.Bytes != nil && uint64(*l.Bytes) < info.State.Bytes:
		return 0, &LimitError{
			"max_bytes", strconv.FormatInt(*l.Bytes, 10),
			fmt.Sprintf("the jobs have %d bytes", info.State.Bytes),
		}
	case l.Lanes != nil && *l.Lanes < lanes:
		return 0, &LimitError{
			"lanes", strconv.Itoa(*l.Lanes),
			fmt.Sprintf("there are %d, and the jobs of one that is taken away would wait for ever", lanes),
		}
	}
	return lanes, a.checkTenants(ctx, l)
}

// checkTenants refuses a bound below what a tenant has stored: NATS would remove the tenant's oldest jobs.
func (a *Admin) checkTenants(ctx context.Context, l *Limits) error {
	if l.TenantCapacity == nil || *l.TenantCapacity == 0 {
		return nil
	}
	info, err := a.Q.State.Jobs.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return fmt.Errorf("count the jobs of tenants: %w", err)
	}
	for subject, stored := range info.State.Subjects {
		if stored > uint64(*l.TenantCapacity) {
			at, _ := readSubject(subject)
			return &LimitError{
				"max_msgs_per_subject", strconv.FormatInt(*l.TenantCapacity, 10),
				fmt.Sprintf("%d jobs of the tenant %q and the class %s are stored", stored, at.tenant, at.class),
			}
		}
	}
	return nil
}

// applyStream changes a stream. The bounds apply to the jobs' stream alone.
func (a *Admin) applyStream(ctx context.Context, name string, l *Limits, changes *[]Change) error {
	stream, err := a.Q.State.JS.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("look at the stream %s: %w", name, err)
	}
	next, before := stream.CachedInfo().Config, len(*changes)
	note := func(field string, have, want any) {
		if have != want {
			*changes = append(*changes, Change{"the stream " + name, field, fmt.Sprint(have), fmt.Sprint(want)})
		}
	}
	if l.Replicas != nil {
		note("num_replicas", next.Replicas, *l.Replicas)
		next.Replicas = *l.Replicas
	}
	if name == a.Q.State.Names.Jobs() {
		if l.Capacity != nil {
			note("max_msgs", next.MaxMsgs, *l.Capacity)
			next.MaxMsgs = *l.Capacity
		}
		if l.Bytes != nil {
			note("max_bytes", next.MaxBytes, *l.Bytes)
			next.MaxBytes = *l.Bytes
		}
		if l.TenantCapacity != nil {
			each := cmp.Or(*l.TenantCapacity, -1)
			note("max_msgs_per_subject", next.MaxMsgsPerSubject, each)
			next.MaxMsgsPerSubject, next.DiscardNewPerSubject = each, each > 0
		}
	}
	if len(*changes) == before {
		return nil
	}
	if _, err := a.Q.State.JS.UpdateStream(ctx, next); err != nil {
		*changes = (*changes)[:before]
		return fmt.Errorf("change the stream %s: %w", name, err)
	}
	return nil
}

// applyConsumer makes a consumer, or changes its AckWait.
func (a *Admin) applyConsumer(ctx context.Context, want state.OwnConsumer, changes *[]Change) error {
	config := want.Config
	change := Change{"the consumer " + config.Durable, "lane", "", "made"}
	if have, err := a.Q.State.JS.Consumer(ctx, want.Stream, config.Durable); err == nil {
		next := have.CachedInfo().Config
		if next.AckWait == config.AckWait {
			return nil
		}
		change.Field, change.Before, change.After = "ack_wait", next.AckWait.String(), config.AckWait.String()
		next.AckWait = config.AckWait
		config = next
	}
	if _, err := a.Q.State.JS.CreateOrUpdateConsumer(ctx, want.Stream, config); err != nil {
		return fmt.Errorf("change %s: %w", change.What, err)
	}
	*changes = append(*changes, change)
	return nil
}
