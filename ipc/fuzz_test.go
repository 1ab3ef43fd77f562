package ipc

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// maxFuzzed bounds what one run costs.
const maxFuzzed = 1 << 20

// decode reads b in pieces of these sizes, as they would come from a socket; one piece without any.
func decode(b []byte, sizes func(left int) int) (got []message, err error) {
	rd := reader{buf: make([]byte, firstBuffer)}
	for len(b) > 0 {
		n := len(b)
		if sizes != nil {
			n = min(n, max(1, sizes(len(b))))
		}
		rd.n = copy(rd.room(), b[:n])
		b = b[rd.n:]
		if err := rd.took(func(f *Frame) { got = append(got, keep(f)) }); err != nil {
			return got, err
		}
	}
	return got, nil
}

// encode returns the stream that these frames came in.
func encode(frames []message) (b []byte) {
	for _, f := range frames {
		b = append(b, wire(f.Kind, f.Flags, f.ID, f.Nanos, f.Body)...)
	}
	return b
}

func sameFrames(a, b []message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].equal(b[i]) {
			return false
		}
	}
	return true
}

func randomCuts(seed uint64) func(int) int {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(left int) int {
		if r.IntN(3) > 0 {
			return r.IntN(40) // around the headers
		}
		return r.IntN(left + 1)
	}
}

// streams are the seeds of both targets.
func streams(f *testing.F) {
	frames := func(sizes ...int) (b []byte) {
		for i, n := range sizes {
			b = append(b, wire(KindPredict, 0, uint64(i), uint64(n), filled(n, uint64(i)))...)
		}
		return b
	}
	good := frames(0, 1, 2, 300, 0)
	long := frames(10, ownedMin-1, 10, ownedMin, ownedMin+1, 10)
	bad := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[HeaderSize+at] = v
		return b
	}
	for i, b := range [][]byte{
		nil, good, good[:len(good)-1], good[:HeaderSize+3], long, long[:len(long)-11],
		bad(3, 1), bad(4, 0), bad(4, 255), bad(5, 1), bad(5, 2), bad(6, 1), bad(7, 1), append(good, bad(2, 0x60)...),
		wire(KindSucceeded, FlagFile, 1, 0, nil), wire(KindPredict, FlagFile|FlagTrace, 1, 0, nil),
		AppendHeader(nil, 1, 0, 1, 0, InlineMax), AppendHeader(nil, 1, 0, 1, 0, InlineMax+1),
	} {
		f.Add(b, uint64(i))
	}
}

// FuzzDecodeFrames: for any bytes, the reader hands on exactly the frames that lie in it, up to the first
// that breaks the protocol, and it does so however the stream is cut.
func FuzzDecodeFrames(f *testing.F) {
	streams(f)
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		if len(b) > maxFuzzed {
			return
		}
		got, err := decode(b, nil)
		used := encode(got)
		assert.TrueNow(t, bytes.HasPrefix(b, used),
			"%d frames, and encoded again they are not what came: got %.300q, want it to start with %q", len(got), b, used)
		checkRest(t, b[len(used):], err)
		cut, cutErr := decode(b, randomCuts(seed))
		assert.True(t, sameFrames(got, cut) && (err == nil) == (cutErr == nil),
			"in one piece %d frames and %v, in several %d and %v, want the same", len(got), err, len(cut), cutErr)
	})
}

// checkRest checks why the reader went no further than rest.
func checkRest(t *testing.T, rest []byte, err error) {
	t.Helper()
	if len(rest) < HeaderSize {
		assert.True(t, err == nil, "%d bytes are not a header yet: got %v, want no error", len(rest), err)
		return
	}
	h, bad := parseHeader(rest)
	switch {
	case bad != nil || h.flags&FlagFile != 0: // no descriptor ever comes here
		assert.ErrorIs(t, "a violation", err, ErrProtocol)
	case err != nil:
		t.Errorf("a good header: got %v, want no error", err)
	case len(rest) >= HeaderSize+int(h.length):
		t.Errorf("a whole frame was left lying: %+v: got %d, want less than %d bytes", h, len(rest), HeaderSize+int(h.length))
	}
}

// FuzzConn sends the stream through a socket, in pieces.
func FuzzConn(f *testing.F) {
	streams(f)
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		if len(b) > maxFuzzed {
			return
		}
		want, wantErr := decode(b, nil)
		var c *Conn
		fd := rawEnd(t, &c)
		done := make(chan struct{})
		go func() {
			defer close(done)
			cuts := randomCuts(seed)
			for rest := b; len(rest) > 0; {
				n := min(len(rest), max(1, cuts(len(rest))))
				if _, err := unix.SendmsgN(fd, rest[:n], nil, nil, unix.MSG_NOSIGNAL); err != nil {
					break // it has heard enough
				}
				rest = rest[n:]
			}
			unix.Close(fd)
		}()
		got, err := untilError(c)
		c.Close()
		<-done
		assert.True(t, sameFrames(got, want), "%d frames, want %d", len(got), len(want))
		assert.True(t, errors.Is(err, ErrProtocol) == errors.Is(wantErr, ErrProtocol), "got %v, want %v", err, wantErr)
		assert.False(t, wantErr == nil && !errors.Is(err, ErrClosed), "got %v at the end, want ErrClosed", err)
	})
}
