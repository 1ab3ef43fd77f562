package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/valyala/fasthttp"
)

// The bare client makes the writes of the job queue and nothing else: no model, no Python, no schema, no checks. Its
// rate is what NATS and this machine allow. Its processes are a front that accepts, and two agents that claim, end and
// acknowledge.

// envBare makes this program one of them: its value is a bareClient in JSON.
const envBare = "BENCH_JOBS_BARE"

// bareModel has the streams of the bare client.
const bareModel = "bare"

// bareClient is what its processes share: the records of a job, as a server of Pinion wrote them.
type bareClient struct {
	Places   int // of an agent; 0 means this is the front
	Headers  nats.Header
	Body     string
	Starting string
	Claimed  string
	Ended    string

	js jetstream.JetStream
}

// runBare is the main function of such a process.
func runBare(text string) error {
	b := &bareClient{}
	if err := json.Unmarshal([]byte(text), b); err != nil {
		return err
	}
	nc, err := nats.Connect(natsURL)
	if err != nil {
		return err
	}
	if b.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if b.Places > 0 {
		return b.agent()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, `{"msg":"listening","address":"http://%s"}`+"\n", ln.Addr())
	return fasthttp.Serve(ln, b.accept)
}

// write writes the state of a job after the one with that revision.
func (b *bareClient) write(id, state string, revision uint64, o ...jetstream.PublishOpt) (uint64, error) {
	m := nats.NewMsg("$KV.pinion_state_" + bareModel + ".id." + id)
	m.Data = []byte(state)
	ack, err := b.js.PublishMsg(context.Background(), m,
		append(o, jetstream.WithExpectLastSequencePerSubject(revision))...)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// accept stores the state of a job and then its message.
func (b *bareClient) accept(ctx *fasthttp.RequestCtx) {
	id := rand.Text()
	revision, err := b.write(id, b.Starting, 0)
	if err == nil {
		m := nats.NewMsg("pinion.job." + bareModel + ".std.0.none")
		for name, values := range b.Headers {
			m.Header[name] = values
		}
		m.Header.Set(nats.MsgIdHdr, id)
		m.Header.Set("Pinion-Id", id)
		m.Header.Set("Pinion-State", strconv.FormatUint(revision, 10)+" "+b.Starting)
		m.Data = []byte(b.Body)
		_, err = b.js.PublishMsg(ctx, m)
	}
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusServiceUnavailable)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusAccepted)
	ctx.SetContentType("application/json")
	fmt.Fprintf(ctx, `{"id":%q,"status":"starting"}`, id)
}

// agent takes jobs, as many at once as it has places, and ends them.
func (b *bareClient) agent() error {
	c, err := b.js.Consumer(context.Background(), "PINION_JOBS_"+bareModel, "std-0")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, `{"msg":"listening"}`)
	taken := make(chan struct{}, b.Places)
	for {
		taken <- struct{}{} // waits for a free place
		<-taken
		batch, err := c.FetchNoWait(b.Places - len(taken))
		if err != nil {
			return err
		}
		if b.run(batch, taken) > 0 {
			continue
		}
		if batch, err = c.Fetch(1, jetstream.FetchMaxWait(time.Second)); err != nil {
			return err
		}
		b.run(batch, taken)
	}
}

// run ends the jobs of a batch, concurrently with the caller. It returns how many there are.
func (b *bareClient) run(batch jetstream.MessageBatch, taken chan struct{}) (n int) {
	for m := range batch.Messages() {
		n++
		taken <- struct{}{}
		go func() {
			defer func() { <-taken }()
			if err := b.end(m); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
	return n
}

// end claims a job, ends it, and acknowledges its message.
func (b *bareClient) end(m jetstream.Msg) error {
	id := m.Headers().Get("Pinion-Id")
	revision, _, _ := strings.Cut(m.Headers().Get("Pinion-State"), " ")
	before, err := strconv.ParseUint(revision, 10, 64)
	if err == nil {
		before, err = b.write(id, b.Claimed, before)
	}
	if err == nil {
		_, err = b.write(id, b.Ended, before, jetstream.WithMsgTTL(10*time.Minute))
	}
	if err != nil {
		return err
	}
	return m.Ack()
}
