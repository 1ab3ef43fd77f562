package ipc

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

func TestConn_BodiesOfEverySizeArrive(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	for i, size := range []int{
		0, 1, HeaderSize - 1, HeaderSize, 1000, firstBuffer - HeaderSize - 1, firstBuffer - HeaderSize,
		ownedMin - 1, ownedMin, ownedMin + 1, 1 << 20, InlineMax - 1, InlineMax, InlineMax + 1, 20 << 20,
	} {
		body := filled(size, uint64(i))
		id := uint64(i) | 1<<63
		// In three parts, one of them empty.
		err := a.Send(KindPredict, id, body[:size/3], nil, body[size/3:])
		assert.TrueNow(t, err == nil, "%d bytes: got %v, want no error", size, err)
		want := message{Kind: KindPredict, ID: id, Body: body}
		if size > InlineMax {
			want.Flags = FlagFile
		}
		large := false
		var got []message
		for len(got) == 0 {
			err := b.Recv(func(f *Frame) { got, large = append(got, keep(f)), f.owned || f.mapped })
			assert.TrueNow(t, err == nil, "%d bytes: got %v, want no error", size, err)
		}
		assert.True(t, len(got) == 1 && got[0].equal(want), "%d bytes: got %v, want %v", size, got, want)
		assert.True(t, large == (size >= ownedMin), "%d bytes: its own body: %v, want %t", size, large, size >= ownedMin)
	}
}

// TestConn_BatchLiesBeforeBusyWorker: what a batch of some size takes is sent before the other side reads, from both
// ends.
func TestConn_BatchLiesBeforeBusyWorker(t *testing.T) {
	noLeak(t)
	front, end, err := Pair("test", 1)
	assert.NoError(t, err)
	guard(t, front)
	worker, err := unix.Dup(int(end.Fd()))
	if err == nil {
		err = unix.SetNonblock(worker, true)
	}
	assert.NoError(t, err)
	defer unix.Close(worker)
	defer end.Close()
	body := filled(16<<10, 1)
	for i := range 16 {
		assert.NoError(t, front.Send(KindPredict, uint64(i), body))
	}
	waiting, err := unix.IoctlGetInt(worker, unix.SIOCINQ)
	want := 16 * (HeaderSize + len(body))
	assert.True(t, err == nil && waiting == want, "to the worker: %d bytes (%v), want %d", waiting, err, want)
	wrote := 0
	for range 16 {
		n, err := unix.Write(worker, body)
		if err != nil {
			break
		}
		wrote += n
	}
	assert.Equal(t, "bytes of the worker", wrote, 16*len(body))
}

// TestPair_WorkersEndsShareTheirRoom: what a worker with many slots has sent, and the front has not read, is bounded.
func TestPair_WorkersEndsShareTheirRoom(t *testing.T) {
	room := func(many int) (bytes int) {
		front, worker, err := Pair("test", many)
		assert.NoError(t, err)
		defer front.Close()
		defer worker.Close()
		return assert.Must(unix.GetsockoptInt(int(worker.Fd()), unix.SOL_SOCKET, unix.SO_SNDBUF))(t)
	}
	if alone, each := room(1), room(100); each > alone || each > 2*minSendBuffer {
		t.Errorf("got room for %d bytes with one slot and %d with 100, want at most %d", alone, each, 2*minSendBuffer)
	}
}

func TestConn_OwnKeepsBody(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	for _, size := range []int{0, 100, ownedMin, InlineMax + 1} {
		body := filled(size, 7)
		assert.NoError(t, a.Send(KindSucceeded, 1, body))
		var kept []byte
		var release func()
		for done := false; !done; {
			assert.NoError(t, b.Recv(func(f *Frame) { kept, release = f.Own(); done = true }))
		}
		// The next frame must not touch it.
		assert.NoError(t, a.Send(KindSucceeded, 2, filled(size, 8)))
		receive(t, b, 1)
		assert.True(t, bytes.Equal(kept, body), "%d bytes: the body changed after Own: got %q, want %q", size, kept, body)
		assert.True(t, (release != nil) == (size >= ownedMin),
			"%d bytes: something to give back: %v, want %t", size, release != nil, size >= ownedMin)
		if release != nil {
			release()
		}
	}
}

func TestConn_FramesOfOneReadArriveInOrder(t *testing.T) {
	a, b := ends(t)
	const n = 2000
	for i := range uint64(n) {
		assert.NoError(t, a.Queue(KindPredict, i, filled(int(i%90), i)))
	}
	assert.NoError(t, a.Flush())
	for i, m := range receive(t, b, n) {
		want := (message{Kind: KindPredict, ID: uint64(i), Body: filled(i%90, uint64(i))})
		assert.TrueNow(t, m.equal(want), "frame %d: got %v, want %v", i, m, want)
	}
}

func TestConn_QueueDoesNotWrite(t *testing.T) {
	var a *Conn
	fd := rawEnd(t, &a)
	defer unix.Close(fd)
	assert.NoError(t, a.Queue(KindPredict, 1, []byte("{}")))
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	assert.NoError(t, err)
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	assert.True(t, err == nil && n == 0, "%d bytes were written, error %v; want none before Flush", n, err)
	assert.NoError(t, a.Flush())
	n, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
	assert.True(t, err == nil && n == HeaderSize+2, "%d bytes were written, error %v; want %d", n, err, HeaderSize+2)
}

func TestConn_Interrupt(t *testing.T) {
	a, b := ends(t)
	none := func(f *Frame) { t.Errorf("got the frame %v, want none", keep(f)) }

	t.Run("the next Recv", func(t *testing.T) {
		b.Interrupt()
		err := b.Recv(none)
		assert.TrueNow(t, errors.Is(err, ErrInterrupted), "got %v, want ErrInterrupted", err)
	})
	t.Run("loses nothing", func(t *testing.T) {
		assert.NoError(t, a.Send(KindPredict, 5, []byte("{}")))
		b.Interrupt()
		err := b.Recv(none)
		assert.TrueNow(t, errors.Is(err, ErrInterrupted), "got %v, want ErrInterrupted", err)
		got := receive(t, b, 1)
		assert.True(t, got[0].ID == 5, "got %v, want the frame of id 5", got)
	})
	t.Run("the Recv in progress, between the halves of a frame", func(t *testing.T) {
		var c *Conn
		fd := rawEnd(t, &c)
		defer unix.Close(fd)
		frame := wire(KindSucceeded, 0, 9, 3, filled(300, 9))
		writeAll(t, fd, frame[:100])
		assert.NoError(t, c.Recv(none))
		result := make(chan error)
		go func() { result <- c.Recv(none) }()
		c.Interrupt() // it is in there, or on its way
		err := <-result
		assert.TrueNow(t, errors.Is(err, ErrInterrupted), "got %v, want ErrInterrupted", err)
		writeAll(t, fd, frame[100:])
		got := receive(t, c, 1)
		want := (message{Kind: KindSucceeded, ID: 9, Nanos: 3, Body: filled(300, 9)})
		assert.True(t, got[0].equal(want), "got %v, want %v", got[0], want)
	})
	t.Run("many are one or a few, and then it is as before", func(t *testing.T) {
		for range 100 {
			b.Interrupt()
		}
		err := b.Recv(none)
		assert.TrueNow(t, errors.Is(err, ErrInterrupted), "got %v, want ErrInterrupted", err)
		assert.NoError(t, a.Send(KindPredict, 6))
		receive(t, b, 1)
	})
}

func TestConn_EndOfOtherSide(t *testing.T) {
	t.Run("what it sent comes first", func(t *testing.T) {
		var c *Conn
		fd := rawEnd(t, &c)
		writeAll(t, fd, wire(KindSucceeded, 0, 1, 0, []byte("{}")))
		unix.Close(fd)
		got, err := untilError(c)
		assert.True(t, len(got) == 1 && errors.Is(err, ErrClosed) && errors.Is(err, io.EOF),
			"got %v, then %v, want len(got) 1 and error ErrClosed and io.EOF", got, err)
	})
	t.Run("also where it left what was sent to it unread", func(t *testing.T) {
		var c *Conn
		fd := rawEnd(t, &c)
		assert.NoError(t, c.Send(KindPredict, 1, filled(100, 1)))
		writeAll(t, fd, wire(KindSucceeded, 0, 1, 0, []byte("{}")))
		unix.Close(fd)
		got, err := untilError(c)
		assert.True(t, len(got) == 1 && errors.Is(err, ErrClosed), "got %v, then %v, want len(got) 1 and error ErrClosed", got, err)
	})
	t.Run("half a frame is none", func(t *testing.T) {
		for _, cut := range []int{1, HeaderSize - 1, HeaderSize, HeaderSize + 1, ownedMin, ownedMin + HeaderSize - 1} {
			var c *Conn
			fd := rawEnd(t, &c)
			go func() {
				writeAll(t, fd, wire(KindSucceeded, 0, 1, 0, filled(ownedMin, 1))[:cut])
				unix.Close(fd)
			}()
			got, err := untilError(c)
			assert.True(t, len(got) == 0 && errors.Is(err, ErrClosed) && !errors.Is(err, ErrProtocol),
				"%d bytes: got %v, then %v, want len(got) empty and error ErrClosed and another error than ErrProtocol", cut, got, err)
		}
	})
	t.Run("a Send fails", func(t *testing.T) {
		var c *Conn
		fd := rawEnd(t, &c)
		unix.Close(fd)
		assert.ErrorIs(t, "c.Send(KindPredict, 1)", c.Send(KindPredict, 1), ErrClosed)
		assert.ErrorIs(t, "the next", c.Queue(KindPredict, 2), ErrClosed)
	})
}

func TestConn_Close(t *testing.T) {
	t.Run("ends a Recv", func(t *testing.T) {
		noLeak(t)
		a, _ := ends(t)
		result := make(chan error)
		go func() { result <- a.Recv(func(*Frame) {}) }()
		a.Close()
		assert.ErrorIs(t, "result", <-result, ErrClosed)
		assert.ErrorIs(t, "the next Recv", a.Recv(func(*Frame) {}), ErrClosed)
		a.Interrupt() // does nothing, and does not fail
	})
	t.Run("ends what Send left to be written", func(t *testing.T) {
		noLeak(t)
		a, _ := ends(t) // the other end does not read
		for i := range uint64(10) {
			assert.NoError(t, a.Send(KindPredict, i, filled(InlineMax+int(i%2), i)))
		}
		a.Close()
		assert.ErrorIs(t, "Send after Close", a.Send(KindPredict, 99), ErrClosed)
		assert.ErrorIs(t, "Send of a large body after Close", a.Send(KindPredict, 99, filled(InlineMax+1, 1)), ErrClosed)
		assert.ErrorIs(t, "SendFile after Close", a.SendFile(KindSlot, 0, memoryFile(t, nil)), ErrClosed)
	})
	t.Run("twice", func(t *testing.T) {
		a, _ := ends(t)
		a.Close()
		err := a.Close()
		assert.True(t, err != nil, "the second Close says nothing")
	})
	t.Run("while all is in use", func(t *testing.T) {
		noLeak(t)
		for range 200 {
			a, b := ends(t)
			done := make(chan struct{})
			for i := range 4 {
				go func() {
					for k := uint64(0); a.Send(KindPredict, k, filled(5000*i, k)) == nil; k++ {
					}
					done <- struct{}{}
				}()
			}
			go func() {
				_, _ = untilError(b)
				done <- struct{}{}
			}()
			go func() {
				_, _ = untilError(a)
				done <- struct{}{}
			}()
			a.Close()
			for range 6 {
				<-done
			}
			b.Close()
		}
	})
}

// TestConn_Unread: Unread counts what lies in the socket, until it is read.
func TestConn_Unread(t *testing.T) {
	near, far := ends(t)
	assert.Equal(t, "unread bytes before anything was sent", near.Unread(), 0)
	assert.NoError(t, near.Send(KindPing, 1))
	n := near.Unread()
	assert.True(t, n >= HeaderSize, "%d bytes are unread, want %d at least", n, HeaderSize)
	assert.NoError(t, far.Recv(func(*Frame) {}))
	assert.Equal(t, "unread bytes after all was read", near.Unread(), 0)
}

// TestConn_RecvWhileLosesNoReadiness: it waits by the poller after a read that has left room, and gets all that is sent
// meanwhile, with and without descriptors.
func TestConn_RecvWhileLosesNoReadiness(t *testing.T) {
	noLeak(t)
	const frames = 20_000
	a, b := ends(t)
	go func() {
		for i := range uint64(frames) {
			if i%64 == 0 {
				_ = a.SendFile(KindLogPipe, i, memoryFile(t, nil))
			} else {
				_ = a.Send(KindOutput, i)
			}
		}
	}()
	n, reads := uint64(0), 0
	err := b.RecvWhile(0, func(f *Frame) {
		assert.TrueNow(t, f.ID == n, "frame %d came in place of %d", f.ID, n)
		if fd := f.Descriptor(); fd >= 0 {
			unix.Close(fd)
		}
		n++
	}, func(bool) (time.Duration, bool) {
		reads++
		return 0, n < frames
	})
	assert.True(t, err == nil && n == frames && reads > 1, "%d frames in %d reads, %v, want %d in several", n, reads, err, frames)
}
