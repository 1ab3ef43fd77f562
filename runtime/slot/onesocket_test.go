package slot

import (
	"testing"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/assert"
)

// newOneSocket returns a worker whose n slots share a socket, that of the first.
func newOneSocket(t *testing.T, p *Pool, n int) *fakeWorker {
	t.Helper()
	w := prepareWorker(t, p, n)
	conn, theirs, err := ipc.Pair("slots", 1)
	assert.NoError(t, err)
	w.ends[0].fd = assert.Must(unix.FcntlInt(theirs.Fd(), unix.F_DUPFD_CLOEXEC, 3))(t)
	theirs.Close()
	conns := make([]*ipc.Conn, n)
	for i := range conns {
		conns[i] = conn
	}
	w.slots = w.pool.Attach(w, conns, w.page.Slot, w.hooks, w.batch)
	return w
}

// beginAll claims n requests that came by the first slot's socket, and returns them by slot.
func beginAll(t *testing.T, w *fakeWorker, n int) []request {
	t.Helper()
	got := make([]request, len(w.ends))
	for range n {
		r := w.ends[0].expect()
		i := ipc.SlotIndex(r.id)
		assert.TrueNow(t, i < len(got) && w.ends[i].claim(r.id), "%#x cannot be claimed at slot %d", r.id, i)
		got[i] = r
	}
	return got
}

// TestOneSocket_EachGetsItsAnswer: one leader reads for the calls of all slots, also after its own call has ended.
func TestOneSocket_EachGetsItsAnswer(t *testing.T) {
	p := testPool(t, Options{})
	w := newOneSocket(t, p, 3)
	calls := []*testCall{start(t, p, "a"), start(t, p, "b"), start(t, p, "c")}
	requests := beginAll(t, w, 3)
	for _, i := range []int{1, 0, 2} {
		assert.NoError(t, w.ends[0].send(ipc.KindSucceeded, requests[i].id, 1000, []byte(`{"output":1}`)))
		w.ends[i].word(atRunning).Store(0)
	}
	for _, c := range calls {
		<-c.done
		assert.True(t, c.Result.Kind == ipc.KindSucceeded, "%s ended with %+v, want an answer", c.Name, c.Result)
	}
}

// TestOneSocket_DeathSettlesAllSlots: an answer that was sent counts, and the other calls fail.
func TestOneSocket_DeathSettlesAllSlots(t *testing.T) {
	p := testPool(t, Options{})
	w := newOneSocket(t, p, 3)
	calls := []*testCall{start(t, p, "a"), start(t, p, "b"), start(t, p, "c")}
	requests := beginAll(t, w, 3)
	assert.NoError(t, w.ends[0].send(ipc.KindSucceeded, requests[2].id, 1000, []byte(`{"output":1}`)))
	assert.Equal(t, "calls that the model had", w.terminate("killed"), 2)
	answered := 0
	for _, c := range calls {
		<-c.done
		if c.Result.Kind == ipc.KindSucceeded {
			answered++
		} else {
			assert.True(t, c.Result.Err != nil, "%s ended with %+v, want an error", c.Name, c.Result)
		}
	}
	assert.Equal(t, "answered", answered, 1)
}

// TestOneSocket_FrameOfNoSlotEndsWorker: its socket is of no use any more.
func TestOneSocket_FrameOfNoSlotEndsWorker(t *testing.T) {
	p := testPool(t, Options{})
	w := newOneSocket(t, p, 2)
	c := start(t, p, "a")
	beginAll(t, w, 1)
	assert.NoError(t, w.ends[0].send(ipc.KindSucceeded, ipc.MakeID(7, 1, 0), 1000, nil))
	assert.Eventually(t, "the worker is killed", func() bool { return len(w.kills()) == 1 })
	assert.Contains(t, "why", w.kills()[0], "a frame for slot 7 of 2")
	w.terminate("killed")
	<-c.done
}
