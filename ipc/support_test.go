package ipc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// ends makes a connected pair. Both are closed when the test ends, and where it never does: a Recv
// that waits for what will not come then fails.
func ends(t testing.TB) (a, b *Conn) {
	t.Helper()
	fd := rawEnd(t, &a)
	b = assert.Must(NewConn(fd, "b"))(t)
	guard(t, b)
	return a, b
}

// rawEnd makes a connected pair of which one end is a bare, blocking descriptor; who takes it closes it.
func rawEnd(t testing.TB, c **Conn) int {
	t.Helper()
	fds := assert.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	*c = assert.Must(NewConn(fds[0], "a"))(t)
	guard(t, *c)
	return fds[1]
}

func guard(t testing.TB, c *Conn) {
	late := time.AfterFunc(assert.Timeout, func() { c.Close() })
	t.Cleanup(func() {
		late.Stop()
		c.Close()
	})
}

// message is a frame that outlives the call which handed it on.
type message struct {
	Kind  Kind
	Flags uint8
	ID    uint64
	Nanos uint64
	Body  []byte
}

func keep(f *Frame) message { return message{f.Kind, f.Flags, f.ID, f.Nanos, bytes.Clone(f.Body)} }

func (m message) String() string {
	return fmt.Sprintf("{kind %d flags %d id %d nanos %d, %d bytes}", m.Kind, m.Flags, m.ID, m.Nanos, len(m.Body))
}

func (m message) equal(o message) bool {
	return m.Kind == o.Kind && m.Flags == o.Flags && m.ID == o.ID && m.Nanos == o.Nanos && bytes.Equal(m.Body, o.Body)
}

// receive reads until n frames have come.
func receive(t testing.TB, c *Conn, n int) []message {
	t.Helper()
	var got []message
	for len(got) < n {
		err := c.Recv(func(f *Frame) { got = append(got, keep(f)) })
		assert.TrueNow(t, err == nil, "after %d of %d frames: got %v, want no error", len(got), n, err)
	}
	assert.TrueNow(t, len(got) <= n, "%d frames, want %d", len(got), n)
	return got
}

// untilError reads until Recv fails.
func untilError(c *Conn) (got []message, err error) {
	for err == nil {
		err = c.Recv(func(f *Frame) { got = append(got, keep(f)) })
	}
	return got, err
}

// wire returns a frame as it travels.
func wire(kind Kind, flags uint8, id, nanos uint64, body []byte) []byte {
	return append(AppendHeader(nil, kind, flags, id, nanos, len(body)), body...)
}

// writeAll writes b to a bare end, with the descriptors on its first byte.
func writeAll(t testing.TB, fd int, b []byte, fds ...int) {
	t.Helper()
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for len(b) > 0 {
		n, err := unix.SendmsgN(fd, b, rights, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			t.Errorf("write: got %v, want no error", err)
			return
		}
		b, rights = b[n:], nil
	}
}

// readAll reads n bytes from a bare end.
func readAll(t testing.TB, fd, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	for have := 0; have < n; {
		k, err := unix.Read(fd, b[have:])
		if err == unix.EINTR {
			continue
		}
		assert.TrueNow(t, err == nil && k != 0, "read: %v after %d of %d bytes: got %d, want anything but 0", err, have, n, k)
		have += k
	}
	return b
}

// memoryFile makes a memory file that holds body.
func memoryFile(t testing.TB, body []byte) int {
	t.Helper()
	return assert.Must(bodyFile(nil, 0, [][]byte{body}))(t)
}

// filled returns n bytes that tell who made them.
func filled(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewPCG(seed, uint64(n))
	for i := 0; i < n; i += 8 {
		v := r.Uint64()
		for k := i; k < min(i+8, n); k++ {
			b[k] = byte(v)
			v >>= 8
		}
	}
	return b
}

// noLeak fails the test where it ends with more descriptors, goroutines or mapped bodies than it began with.
func noLeak(t *testing.T) {
	t.Helper()
	maps := mappedBodies(t)
	assert.NoLeak(t, func() {
		now := mappedBodies(t)
		assert.True(t, now <= maps, "%d bodies are still mapped, %d were, want at most %d", now, maps, maps)
	})
}

func mappedBodies(t testing.TB) int {
	t.Helper()
	maps := assert.Must(os.ReadFile("/proc/self/maps"))(t)
	return strings.Count(string(maps), "pinion-body")
}
