package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/state"
)

// system is what accepts and finishes predictions: our servers, or the bare client.
type system struct {
	name    string
	model   string
	fronts  []*process
	accepts []float64 // a second, by round
	ends    []float64
}

// rates measures how many predictions two servers accept in a second, and how many they finish, beside the bare client.
// Rounds of both take turns.
func (b *bench) rates() error {
	nc, err := nats.Connect(natsURL)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	front, end, err := b.bare(nc)
	if err != nil {
		return err
	}
	defer end()
	ours, bare := &system{name: "Pinion", model: "m", fronts: []*process{b.on, b.to}},
		&system{name: "the bare client", model: bareModel, fronts: []*process{front}}
	for round := range b.rounds + 1 {
		both := []*system{bare, ours}
		if round%2 == 1 {
			both = []*system{ours, bare}
		}
		for _, s := range both {
			if err := b.ratesOf(s, js); err != nil {
				return err
			}
			if round == 0 { // to warm up
				s.accepts, s.ends = nil, nil
			}
		}
	}
	var accepts, ends []float64
	for i := range b.rounds {
		accepts, ends = append(accepts, ours.accepts[i]/bare.accepts[i]), append(ends, ours.ends[i]/bare.ends[i])
	}
	for _, s := range []*system{bare, ours} {
		fmt.Printf("%-44s %.0f/s at %d clients, while they are run\n", "accepted by "+s.name, median(s.accepts), b.clients)
		fmt.Printf("%-44s %.0f/s, from the first accepted to the last ended\n", "finished by "+s.name, median(s.ends))
	}
	fmt.Printf("%-44s %.2f of the accepted, %.2f of the finished\n", "Pinion beside the bare client", median(accepts),
		median(ends))
	return nil
}

// ratesOf runs one round of one system.
func (b *bench) ratesOf(s *system, js jetstream.JetStream) error {
	var turn atomic.Int64
	began := time.Now()
	rate, err := b.rate(func() error {
		_, err := accept(s.fronts[int(turn.Add(1))%len(s.fronts)], nothing)
		return err
	})
	if err != nil {
		return err
	}
	accepted := rate * time.Since(began).Seconds()
	for stored := uint64(1); stored > 0; time.Sleep(20 * time.Millisecond) {
		stream, err := js.Stream(context.Background(), "PINION_JOBS_"+s.model)
		if err != nil {
			return err
		}
		stored = stream.CachedInfo().State.Msgs
	}
	s.accepts, s.ends = append(s.accepts, rate), append(s.ends, accepted/time.Since(began).Seconds())
	return nil
}

// bare starts the processes of the bare client, on streams as ours are, with the records of a job that our servers have
// run.
func (b *bench) bare(nc *nats.Conn) (front *process, end func(), err error) {
	records, err := b.records(nc)
	if err != nil {
		return nil, nil, err
	}
	if _, err := store.Open(context.Background(), state.Connected(nc),
		state.Options{Model: bareModel, Server: "bench", Capacity: queueCapacity}); err != nil {
		return nil, nil, err
	}
	var servers []*process
	end = func() {
		for _, p := range servers {
			p.end()
		}
	}
	for _, places := range []int{0, b.places, b.places} {
		records.Places = places
		text, err := json.Marshal(records)
		if err != nil {
			return nil, end, err
		}
		program, err := os.Executable()
		if err != nil {
			return nil, end, err
		}
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), envBare+"="+string(text))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		p, err := startCommand(cmd, "listening")
		if err != nil {
			end()
			return nil, nil, err
		}
		servers = append(servers, p)
	}
	return servers[0], end, nil
}

// records returns what our servers store of a job.
func (b *bench) records(nc *nats.Conn) (*bareClient, error) {
	seen := make(chan *nats.Msg, 16)
	for _, subject := range []string{"pinion.job.m.>", "$KV.pinion_state_m.id.>"} {
		sub, err := nc.ChanSubscribe(subject, seen)
		if err != nil {
			return nil, err
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	if err := nc.Flush(); err != nil {
		return nil, err
	}
	if _, err := accept(b.on, nothing); err != nil {
		return nil, err
	}
	r := &bareClient{}
	for r.Body == "" || r.Starting == "" || r.Claimed == "" || r.Ended == "" {
		select {
		case m := <-seen:
			var state struct{ Status string }
			switch {
			case strings.HasPrefix(m.Subject, "pinion.job."):
				m.Header.Del(nats.ExpectedStreamHdr)
				r.Headers, r.Body = m.Header, string(m.Data)
				continue
			case json.Unmarshal(m.Data, &state) != nil:
				continue
			}
			switch state.Status {
			case "starting":
				r.Starting = string(m.Data)
			case "processing":
				r.Claimed = string(m.Data)
			default:
				r.Ended = string(m.Data)
			}
		case <-time.After(10 * time.Second):
			return nil, errors.New("no job was seen at NATS")
		}
	}
	return r, nil
}
