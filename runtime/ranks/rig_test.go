package ranks

import (
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/tests/assert"
)

// rig is a relay between real sockets: the test is the front, and the ranks.
type rig struct {
	t     *testing.T
	relay *Relay
	front *side
	words ipc.Slot // the slot's
	ranks []*side
	lost  chan error
}

// side is the test's end of a channel.
type side struct {
	conn *ipc.Conn
	got  chan *message // closed at the end of the channel
}

func newSide(t *testing.T, conn *ipc.Conn) *side {
	t.Helper()
	s := &side{conn, make(chan *message, 1000)}
	conn.KeepFiles()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(s.got)
		for conn.Recv(func(f *ipc.Frame) { s.got <- own(f) }) == nil {
		}
	}()
	t.Cleanup(func() { conn.Close(); <-ended })
	return s
}

// pair returns the two ends of a channel.
func pair(t *testing.T) (mine, relays *ipc.Conn) {
	t.Helper()
	mine, file, err := ipc.Pair("test", 1)
	assert.NoError(t, err)
	fd := assert.Must(unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3))(t)
	file.Close()
	return mine, assert.Must(ipc.NewConn(fd, "test"))(t)
}

func newPage(t *testing.T) *ipc.Page {
	t.Helper()
	page := assert.Must(ipc.NewPage())(t)
	t.Cleanup(page.Close)
	return page
}

func newRig(t *testing.T, count int) *rig {
	t.Helper()
	r := &rig{t: t, lost: make(chan error, 100)}
	front, relays := pair(t)
	front.ShareBodies()
	first := newPage(t)
	r.words = first.Slot(1)
	o := Options{
		Front: relays, Words: r.words, Grace: time.Hour, Late: func(string) {}, Stepless: func(time.Duration) {},
	}
	for i := range count {
		rank, relays := pair(t)
		page := first
		if i > 0 {
			page = newPage(t)
		}
		o.Ranks = append(o.Ranks, Member{
			Conn: relays, Words: page.Slot(0), Took: func(*ipc.Frame) error { return nil },
			Lost: func(err error) { r.lost <- err },
		})
		r.ranks = append(r.ranks, newSide(t, rank))
	}
	r.relay, r.front = New(o), newSide(t, front)
	t.Cleanup(r.close)
	return r
}

// close ends the relay, as the supervisor does when the ranks have ended.
func (r *rig) close() {
	for _, rank := range r.ranks {
		rank.conn.Close()
	}
	r.relay.Close()
}

// request sends the ranks a request, as a slot does.
func (r *rig) request(id uint64, flags uint8, body string) {
	r.t.Helper()
	r.words.Queue(id)
	assert.NoError(r.t, r.front.conn.QueueIn(nil, ipc.KindPredict, flags, id, []byte(body)))
	assert.NoError(r.t, r.front.conn.Flush())
}

func (s *side) send(t *testing.T, kind ipc.Kind, id uint64, body string) {
	t.Helper()
	assert.NoError(t, s.conn.Send(kind, id, []byte(body)))
}

// sendNumber sends a frame whose nanos are a number.
func (s *side) sendNumber(t *testing.T, kind ipc.Kind, id, nanos uint64) {
	t.Helper()
	assert.NoError(t, s.conn.Pass(&ipc.Frame{Kind: kind, ID: id, Nanos: nanos}, -1))
	assert.NoError(t, s.conn.Flush())
}

// next returns the next frame that comes.
func (s *side) next(t *testing.T) *message {
	t.Helper()
	select {
	case m, open := <-s.got:
		assert.TrueNow(t, open, "the channel has ended, want a frame")
		return m
	case <-time.After(assert.Timeout):
		t.Fatal("no frame came")
		return nil
	}
}

func (s *side) want(t *testing.T, kind ipc.Kind, id uint64, body string) {
	t.Helper()
	m := s.next(t)
	assert.Equal(t, "kind", m.frame.Kind, kind)
	assert.Equal(t, "id", m.frame.ID, id)
	text := string(m.frame.Body)
	if m.fd >= 0 {
		file := os.NewFile(uintptr(m.fd), "body")
		text = string(assert.Must(io.ReadAll(io.NewSectionReader(file, 0, 1<<30)))(t))
		file.Close()
	}
	assert.True(t, text == body, "body: got %.200s, want %.200s", text, body)
}

// wantNone checks that nothing came, after something that comes later did.
func (s *side) wantNone(t *testing.T) {
	t.Helper()
	select {
	case m := <-s.got:
		t.Errorf("got %+v, want nothing", m)
	default:
	}
}
