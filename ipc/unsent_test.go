package ipc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// outlived returns a channel to a worker that has died with frames unsent: these are all bytes of its stream, of which
// the first so many were sent, and those from begin on lie in the page.
func outlived(t *testing.T, stream []byte, sent, begin int) (got []message, err error) {
	t.Helper()
	p, err := NewPage()
	assert.NoError(t, err)
	defer p.Close()
	var c *Conn
	fd := rawEnd(t, &c)
	const slot = 3
	at := pageHeader + MaxSlots*pageSlot + slot*pageOut
	copy(p.mem[at+offOutData:at+pageOut], stream[begin:])
	p.word(at + offOutBegin).Store(uint64(begin))
	p.word(at + offOutLen).Store(uint64(len(stream) - begin))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for rest := stream[:sent]; len(rest) > 0; {
			n, err := unix.Write(fd, rest)
			if err != nil && err != unix.EINTR {
				return
			}
			rest = rest[max(n, 0):]
		}
		unix.Close(fd)
	}()
	keep := func(f *Frame) { got = append(got, message{f.Kind, f.Flags, f.ID, f.Nanos, bytes.Clone(f.Body)}) }
	for err == nil {
		err = c.Recv(keep)
	}
	<-done
	assert.TrueNow(t, errors.Is(err, ErrClosed), "the channel ended with %v, want ErrClosed", err)
	return got, c.RecvUnsent(p.Slot(slot), keep)
}

// TestUnsent_ArrivesOnce: wherever the worker was cut off, every frame that it had queued arrives, once.
func TestUnsent_ArrivesOnce(t *testing.T) {
	noLeak(t)
	var stream []byte
	var ends []int
	for i := range 5 {
		body := bytes.Repeat([]byte{byte('a' + i)}, 50*i)
		stream = append(stream, wire(KindSucceeded, 0, uint64(i), 7, body)...)
		ends = append(ends, len(stream))
	}
	for begin := 0; begin <= ends[1]; begin += ends[1] {
		for sent := begin; sent <= len(stream); sent++ {
			got, err := outlived(t, stream, sent, begin)
			assert.TrueNow(t, err == nil, "cut off at %d: got %v, want no error", sent, err)
			assert.EqualNow(t, fmt.Sprintf("cut off at %d: frames", sent), len(got), 5)
			for i, m := range got {
				assert.TrueNow(t, m.ID == uint64(i) && len(m.Body) == 50*i,
					"cut off at %d: frame %d is %+v, want ID %d and len(Body) %d bytes", sent, i, m, uint64(i), 50*i)
			}
		}
	}
}

// TestUnsent_OfLargeFrame, whose body has separate memory.
func TestUnsent_OfLargeFrame(t *testing.T) {
	noLeak(t)
	body := filled(ownedMin+5000, 3)
	stream := append(wire(KindSucceeded, 0, 1, 0, body), wire(KindFailed, 0, 2, 0, []byte("x"))...)
	begin := len(stream) - 10_000
	for _, sent := range []int{begin, begin + 1, len(stream) - 30, len(stream)} {
		got, err := outlived(t, stream, sent, begin)
		assert.True(t, err == nil && len(got) == 2 && bytes.Equal(got[0].Body, body) && got[1].ID == 2,
			"cut off at %d: got %d frames, %v, want len(got) 2, Body %q and ID 2", sent, len(got), err, body)
	}
}

// TestUnsent_OfNothing: what is said to lie in the page does not fit what came.
func TestUnsent_OfNothing(t *testing.T) {
	p := assert.Must(NewPage())(t)
	defer p.Close()
	const at = pageHeader + MaxSlots*pageSlot
	for _, c := range []struct{ begin, length, position uint64 }{
		{0, 0, 0}, {10, 5, 9}, {10, 5, 16}, {0, pageOut, 0}, {0, ^uint64(0), 5}, {^uint64(0), 1, 0},
	} {
		p.word(at + offOutBegin).Store(c.begin)
		p.word(at + offOutLen).Store(c.length)
		assert.Equal(t, fmt.Sprintf("%+v: bytes", c), len(p.Slot(0).unsent(c.position)), 0)
	}
	p.word(at + offOutBegin).Store(10)
	p.word(at + offOutLen).Store(5)
	for position, want := range map[uint64]int{10: 5, 12: 3, 15: 0} {
		assert.Equal(t, fmt.Sprintf("from %d: bytes", position), len(p.Slot(0).unsent(position)), want)
	}
}

// TestUnsent_OfRubbish: if a dying worker left rubbish, that is an error and does no harm.
func TestUnsent_OfRubbish(t *testing.T) {
	noLeak(t)
	got, err := outlived(t, append(wire(KindSucceeded, 0, 1, 0, nil), bytes.Repeat([]byte{0xff}, 100)...), 0, 0)
	assert.True(t, len(got) == 1 && errors.Is(err, ErrProtocol), "got %d frames, %v, want 1 and ErrProtocol", len(got), err)
}
