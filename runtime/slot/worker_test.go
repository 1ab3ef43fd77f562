package slot

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/assert"
)

// Where the words of a slot lie in the page; ipc/PROTOCOL.md draws it.
const (
	pageHeader = 4096
	pageSlot   = 1024
	atRunning  = 0
	atCancel   = 64
	atClaims   = 128
	atBusyPoll = 192 // of the page
)

// fakeWorker is a worker within the test: the far ends of its slots, its mapping of the page, and what the pool did
// with it. A test, or a goroutine of serve, acts as the C loop.
type fakeWorker struct {
	t     testing.TB
	pool  *Pool
	page  *ipc.Page
	mem   []byte
	ends  []*slotEnd
	slots []*Slot

	interrupts atomic.Int64
	closings   atomic.Int64
	hooks      Hooks
	batch      *BatchOptions
	onKill     func() // may be set before the worker is used; must not block

	mu     sync.Mutex
	killed []string
	stuck  []string
	logged []string // "stream prediction text"
	text   []byte   // what it wrote to stdout
	taken  int
}

// slotEnd is the worker's end of one slot.
type slotEnd struct {
	w     *fakeWorker
	index int
	fd    int
	buf   []byte
	fds   []int
	once  sync.Once
}

// request is a frame as the worker gets it.
type request struct {
	kind  ipc.Kind
	id    uint64
	body  []byte
	flags uint8
}

// newWorker attaches a worker with n slots to the pool.
func newWorker(t testing.TB, p *Pool, n int) *fakeWorker {
	t.Helper()
	w := prepareWorker(t, p, n)
	w.attach()
	return w
}

// poolWithWorker returns a pool, as testPool does, and its worker with n slots.
func poolWithWorker(t testing.TB, o Options, n int) (*Pool, *fakeWorker) {
	t.Helper()
	p := testPool(t, o)
	return p, newWorker(t, p, n)
}

// poolWithSlot returns a pool, as testPool does, and the worker's end of its only slot.
func poolWithSlot(t testing.TB, o Options) (*Pool, *slotEnd) {
	t.Helper()
	p, w := poolWithWorker(t, o, 1)
	return p, w.ends[0]
}

// prepareWorker is newWorker without the Attach.
func prepareWorker(t testing.TB, p *Pool, n int) *fakeWorker {
	t.Helper()
	page := assert.Must(ipc.NewPage())(t)
	mem, err := unix.Mmap(int(page.File().Fd()), 0, ipc.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	assert.NoError(t, err)
	w := &fakeWorker{t: t, pool: p, page: page, mem: mem, ends: make([]*slotEnd, n)}
	for i := range w.ends {
		w.ends[i] = &slotEnd{w: w, index: i, fd: -1}
	}
	t.Cleanup(func() { w.terminate("the test is over") })
	return w
}

// busyPoll is for how long the front lets the worker poll.
func (w *fakeWorker) busyPoll() time.Duration {
	return time.Duration(atomic.LoadUint64((*uint64)(unsafe.Pointer(&w.mem[atBusyPoll]))))
}

// attach makes the sockets, and gives the pool its ends.
func (w *fakeWorker) attach() {
	w.t.Helper()
	conns := make([]*ipc.Conn, len(w.ends))
	for i, l := range w.ends {
		conn, theirs, err := ipc.Pair("slot", 1)
		assert.NoError(w.t, err)
		conns[i] = conn
		l.fd = assert.Must(unix.FcntlInt(theirs.Fd(), unix.F_DUPFD_CLOEXEC, 3))(w.t)
		theirs.Close()
		// A test that waits for a frame which never comes is to fail, not to hang.
		late := unix.NsecToTimeval(int64(assert.Timeout))
		assert.NoError(w.t, unix.SetsockoptTimeval(l.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &late))
	}
	w.slots = w.pool.Attach(w, conns, w.page.Slot, w.hooks, w.batch)
}

// die closes the worker's ends, as its death does.
func (w *fakeWorker) die() {
	for _, l := range w.ends {
		l.close()
	}
}

func (l *slotEnd) close() {
	l.once.Do(func() {
		// A goroutine of serve may be reading: the shutdown ends it before the descriptor is closed.
		_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
		unix.Close(l.fd)
		for _, fd := range l.fds {
			unix.Close(fd)
		}
	})
}

// terminate ends the worker and detaches its slots, as supervise does; a second time it does nothing.
func (w *fakeWorker) terminate(cause string) (had int) {
	if w.page == nil {
		return 0
	}
	w.die()
	had = w.pool.Detach(w.slots, WorkerExit{Cause: cause, Logs: w.rest})
	_ = unix.Munmap(w.mem) // it was mapped
	w.page.Close()
	w.page, w.mem = nil, nil
	return had
}

func (w *fakeWorker) Interrupt() { w.interrupts.Add(1) }
func (w *fakeWorker) Closed()    { w.closings.Add(1) }
func (w *fakeWorker) Stack(_ context.Context, slot int) (string, error) {
	return fmt.Sprintf("stack of slot %d", slot), nil
}

func (w *fakeWorker) Stuck(why string) { w.mu.Lock(); w.stuck = append(w.stuck, why); w.mu.Unlock() }

func (w *fakeWorker) Kill(_ Fault, why string) {
	w.mu.Lock()
	w.killed = append(w.killed, why)
	w.mu.Unlock()
	if w.onKill != nil {
		w.onKill()
	}
}

func (w *fakeWorker) kills() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.killed...)
}

// write puts text into the worker's log and says how much there is of it.
func (w *fakeWorker) write(text string) (position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text...)
	return uint64(len(w.text))
}

func (w *fakeWorker) TakeLogs(_ string, at ipc.LogMark) []Text {
	return []Text{{"stdout", w.take(int(at.Stdout))}}
}

func (w *fakeWorker) LogPipe(int, bool) { panic("a fake worker makes no children") }

func (w *fakeWorker) LogPipesEnd() { panic("a fake worker makes no children") }

func (w *fakeWorker) take(stdout int) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := max(w.taken, min(stdout, len(w.text)))
	text := w.text[w.taken:to]
	w.taken = to
	return bytes.Clone(text)
}

func (w *fakeWorker) rest() []byte { return w.take(1 << 62) }

func (w *fakeWorker) Logged(prediction string, text ipc.Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logged = append(w.logged, fmt.Sprintf("%s %s %s", text.Source, prediction, text.Data))
}

func (w *fakeWorker) LogRecord(f *ipc.Frame) error {
	_, err := ipc.ParseLogRecord(f.Body)
	return err
}

func (l *slotEnd) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&l.w.mem[pageHeader+l.index*pageSlot+at]))
}

// claim takes a request for the model, unless the front took it back: px_claim.
func (l *slotEnd) claim(id uint64) bool {
	l.word(atRunning).Store(id)
	if l.word(atClaims+8*ipc.ClaimIndex(id)).CompareAndSwap(id<<2|uint64(ipc.ClaimQueued),
		id<<2|uint64(ipc.ClaimRunning)) {
		return true
	}
	l.word(atRunning).Store(0)
	return false
}

// canceled reports whether the front asked for the end of id.
func (l *slotEnd) canceled(id uint64) bool { return l.word(atCancel).Load() == id }

// next reads one frame; io.EOF once the front is gone.
func (l *slotEnd) next() (request, error) {
	for {
		if len(l.buf) >= ipc.HeaderSize {
			n := int(binary.LittleEndian.Uint32(l.buf))
			if len(l.buf) >= ipc.HeaderSize+n {
				r := request{
					ipc.Kind(l.buf[4]), binary.LittleEndian.Uint64(l.buf[8:]),
					bytes.Clone(l.buf[ipc.HeaderSize : ipc.HeaderSize+n]), l.buf[5],
				}
				file := r.flags&ipc.FlagFile != 0
				l.buf = l.buf[ipc.HeaderSize+n:]
				if file {
					return r, l.attach(&r)
				}
				return r, nil
			}
		}
		piece, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*64))
		n, oobn, _, _, err := unix.Recvmsg(l.fd, piece, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return request{}, fmt.Errorf("read request: %w", err)
		case n == 0:
			return request{}, io.EOF
		}
		l.buf = append(l.buf, piece[:n]...)
		if err := l.collect(oob[:oobn]); err != nil {
			return request{}, err
		}
	}
}

func (l *slotEnd) collect(oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	for i := 0; i < len(messages) && err == nil; i++ {
		var fds []int
		fds, err = unix.ParseUnixRights(&messages[i])
		l.fds = append(l.fds, fds...)
	}
	return err
}

func (l *slotEnd) attach(r *request) error {
	if len(l.fds) == 0 {
		return fmt.Errorf("a file frame without its descriptor")
	}
	fd := l.fds[0]
	l.fds = l.fds[1:]
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	r.body = make([]byte, st.Size)
	for at := 0; at < len(r.body); {
		n, err := unix.Pread(fd, r.body[at:], int64(at))
		if err != nil && err != unix.EINTR {
			return err
		}
		at += max(n, 0)
	}
	return nil
}

// expect reads the next request; the test fails where there is none.
func (l *slotEnd) expect() request {
	l.w.t.Helper()
	r, err := l.next()
	assert.TrueNow(l.w.t, err == nil && r.kind == ipc.KindPredict, "slot %d: got kind %d, %v; want a request", l.index, r.kind, err)
	return r
}

// begin reads the next request that the front has not taken back, and claims it.
func (l *slotEnd) begin() request {
	l.w.t.Helper()
	for {
		if r := l.expect(); l.claim(r.id) {
			return r
		}
	}
}

// send sends a frame. The error means that the front has closed its end.
func (l *slotEnd) send(kind ipc.Kind, id uint64, took time.Duration, body []byte) error {
	var flags uint8
	var rights []byte
	b := ipc.AppendHeader(nil, kind, 0, id, uint64(took), len(body))
	if len(body) > ipc.InlineMax {
		fd, err := unix.MemfdCreate("body", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for rest := body; len(rest) > 0; {
			n, err := unix.Write(fd, rest)
			if err != nil && err != unix.EINTR {
				return err
			}
			rest = rest[max(n, 0):]
		}
		flags, rights = ipc.FlagFile, unix.UnixRights(fd)
		b = ipc.AppendHeader(nil, kind, flags, id, uint64(took), 0)
	} else {
		b = append(b, body...)
	}
	for len(b) > 0 {
		n, err := unix.SendmsgN(l.fd, b, rights, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return err
		}
		if err == nil {
			b, rights = b[n:], nil
		}
	}
	return nil
}

// answer ends a prediction; the test fails where the front does not listen.
func (l *slotEnd) answer(kind ipc.Kind, id uint64, took time.Duration, body string) {
	l.w.t.Helper()
	l.word(atRunning).Store(0)
	err := l.send(kind, id, took, []byte(body))
	assert.TrueNow(l.w.t, err == nil, "slot %d: answer: got %v, want no error", l.index, err)
}

// succeed answers as an echo: with what it was asked.
func (l *slotEnd) succeed(r request) {
	l.w.t.Helper()
	l.answer(ipc.KindSucceeded, r.id, time.Millisecond, string(r.body))
}

// writeAll writes bytes as they are.
func writeAll(t testing.TB, fd int, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		b = b[max(n, 0):]
	}
}
