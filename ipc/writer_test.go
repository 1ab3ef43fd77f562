package ipc

import (
	"bytes"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestWriter_CombiningWriter has many goroutines send at once: every frame comes whole, and those of one
// goroutine in its order.
func TestWriter_CombiningWriter(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	const senders, frames = 32, 300
	size := func(sender, n uint64) int {
		switch k := (sender*7 + n) % 150; {
		case k == 0:
			return 100 << 10
		case k == 2: // both halves are sent from where they lie
			return 5 * largePart
		case k == 1 && sender < 2:
			return InlineMax + 1
		default:
			return int(k) * 5
		}
	}
	var wg sync.WaitGroup
	for sender := range uint64(senders) {
		wg.Go(func() {
			for n := range uint64(frames) {
				body := filled(size(sender, n), sender<<32|n)
				if err := a.Send(KindLog, sender<<32|n, body[:len(body)/2], body[len(body)/2:]); err != nil {
					t.Errorf("sender %d: got %v, want no error", sender, err)
					return
				}
			}
		})
	}
	var next [senders]uint64
	count := 0
	for count < senders*frames {
		err := b.Recv(func(f *Frame) {
			sender, n := f.ID>>32, f.ID&(1<<32-1)
			if sender >= senders || n != next[sender] {
				t.Errorf("sender %d: frame %d, want %d", sender, n, next[min(sender, senders-1)])
				return
			}
			next[sender]++
			count++
			want := message{Kind: KindLog, ID: f.ID, Body: filled(size(sender, n), f.ID)}
			if size(sender, n) > InlineMax {
				want.Flags = FlagFile
			}
			got := keep(f)
			assert.True(t, got.equal(want), "got %v, want %v", got, want)
		})
		assert.TrueNow(t, err == nil && !t.Failed(), "after %d frames: %v", count, err)
	}
	wg.Wait()
}

// TestWriter_SendDoesNotWait sends far more than a socket holds before the other end reads: were one Send to wait for
// the other side, the test would hang.
func TestWriter_SendDoesNotWait(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	const n = 40
	want := make([]message, n)
	for i := range want {
		want[i] = message{Kind: KindPredict, ID: uint64(i), Body: filled(1<<20, uint64(i))}
		switch i % 4 {
		case 0:
			want[i].Body = filled(InlineMax+1, uint64(i))
			want[i].Flags = FlagFile
		case 1:
			want[i].Body = nil
		}
		assert.NoError(t, a.Send(want[i].Kind, want[i].ID, want[i].Body))
	}
	for i, got := range receive(t, b, n) {
		assert.True(t, got.equal(want[i]), "frame %d: got %v, want %v", i, got, want[i])
	}
}

// TestWriter_SmallFrameBehindLargeBody: who sends while another's body waits for the reader does not wait with it.
func TestWriter_SmallFrameBehindLargeBody(t *testing.T) {
	a, b := ends(t)
	assert.NoError(t, a.Send(KindPredict, 1, filled(InlineMax, 1)))
	assert.NoError(t, a.Send(KindPredict, 2, []byte("{}")))
	got := receive(t, b, 2)
	assert.True(t, got[0].ID == 1 && got[1].ID == 2, "got %v, want the frames of ids 1 and 2", got)
	// The goroutine that finished the body leaves the writer to others.
	assert.NoError(t, a.Send(KindPredict, 3))
	receive(t, b, 1)
}

// TestWriter_IdleWriterGivesMemoryBack: one large frame must not cost for ever.
func TestWriter_IdleWriterGivesMemoryBack(t *testing.T) {
	a, b := ends(t)
	assert.NoError(t, a.Send(KindPredict, 1, filled(InlineMax, 1)))
	receive(t, b, 1)
	for i := range uint64(2) { // both of its buffers are used again
		assert.NoError(t, a.Send(KindPredict, i))
		receive(t, b, 1)
	}
	held := func() int {
		a.write.mu.Lock()
		defer a.write.mu.Unlock()
		return cap(a.write.pending.data) + cap(a.write.cur.data)
	}
	assert.Eventually(t, "the buffers are small again", func() bool { return held() <= 2*keepBytes },
		func() any { return held() })
}

func TestWriter_CloseOfFullWriterClosesWhatWaits(t *testing.T) {
	noLeak(t)
	var a *Conn
	fd := rawEnd(t, &a)
	defer unix.Close(fd)
	for i := range uint64(20) {
		assert.NoError(t, a.Send(KindPredict, i, filled(1<<20, i)))
		assert.NoError(t, a.SendFile(KindSlot, i, memoryFile(t, []byte("x"))))
	}
	a.Close()
}

// TestWriter_LargePartsBetweenSmallOnesAndFiles: everything that is sent while the socket is full goes out in its
// order, whether it was copied, is sent from where it lies, or is a file.
func TestWriter_LargePartsBetweenSmallOnesAndFiles(t *testing.T) {
	a, b := ends(t)
	large, small := filled(largePart, 1), []byte("small")
	shapes := [][][]byte{{large}, {small, large, small}, {large, large}, {}, {small, large, large, small, large}, {small}}
	var want []message
	for round := range uint64(40) {
		for i, parts := range shapes {
			id := round<<8 | uint64(i)
			assert.NoError(t, a.Queue(KindLog, id, parts...))
			want = append(want, message{Kind: KindLog, ID: id, Body: bytes.Join(parts, nil)})
		}
		if round%3 == 0 { // next to a large part, and next to another file
			for i := range round%2 + 1 {
				assert.NoError(t, a.write.enqueue(memoryFile(t, small), KindSucceeded, FlagFile, i, 0, 0, nil))
				want = append(want, message{Kind: KindSucceeded, Flags: FlagFile, ID: i, Body: small})
			}
			assert.NoError(t, a.Queue(KindLog, round, large))
			want = append(want, message{Kind: KindLog, ID: round, Body: large})
		}
	}
	assert.NoError(t, a.Flush())
	for i, got := range receive(t, b, len(want)) {
		assert.TrueNow(t, got.equal(want[i]), "frame %d: got %v, want %v", i, got, want[i])
	}
	assert.Eventually(t, "nothing of what was sent is held", func() bool {
		a.write.mu.Lock()
		defer a.write.mu.Unlock()
		if a.write.active { // and has cur
			return false
		}
		for _, b := range []batch{a.write.pending, a.write.cur} {
			for _, p := range b.parts[:cap(b.parts)] {
				if p.data != nil {
					return false
				}
			}
		}
		return true
	})
}
