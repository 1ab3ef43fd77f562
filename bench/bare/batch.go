package main

import (
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"
)

// The baseline of batches: the model that sleeps, within the handler's process. It knows how many clients there are and
// that each sends its next request at once, so its batches are the best possible ones.
const (
	batchMost = 32
	batchWait = 20 * time.Millisecond // for clients that do not come back after all
	batchBase = 5 * time.Millisecond
	batchEach = 100 * time.Microsecond
)

type number struct {
	Input struct {
		X int `json:"x"`
	} `json:"input"`
}

type item struct {
	x    int
	done chan int
}

// batcher collects requests, and answers them together.
type batcher struct {
	clients atomic.Int64 // that are connected
	items   chan item
}

func newBatcher() *batcher {
	b := &batcher{items: make(chan item, 1<<16)}
	go b.run()
	return b
}

// count counts connections; fasthttp calls it when one changes its state.
func (b *batcher) count(_ net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateNew:
		b.clients.Add(1)
	case fasthttp.StateClosed, fasthttp.StateHijacked:
		b.clients.Add(-1)
	}
}

// run is the model's loop. It has its own thread, whose waits end as punctually as those of Pinion's workers.
func (b *batcher) run() {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	for {
		batch := b.collect()
		wait := unix.NsecToTimespec(int64(batchBase + batchEach*time.Duration(len(batch))))
		if err := unix.Nanosleep(&wait, nil); err != nil && err != unix.EINTR {
			panic(err)
		}
		for _, it := range batch {
			it.done <- 2 * it.x
		}
	}
}

// collect returns when a request of every client is there.
func (b *batcher) collect() []item {
	batch := []item{<-b.items}
	late := time.NewTimer(batchWait)
	defer late.Stop()
	for int64(len(batch)) < min(batchMost, b.clients.Load()) {
		select {
		case it := <-b.items:
			batch = append(batch, it)
		case <-late.C:
			return batch
		}
	}
	return batch
}

func (b *batcher) handle(ctx *fasthttp.RequestCtx) {
	created := time.Now()
	var in number
	if err := sonic.Unmarshal(ctx.PostBody(), &in); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	it := item{in.Input.X, make(chan int, 1)}
	b.items <- it
	reply(ctx, "", created, created, <-it.done)
}
