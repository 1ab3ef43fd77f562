package ipc

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// other is a second mapping of a page: the worker's.
type other []byte

func page(t *testing.T) (*Page, other) {
	t.Helper()
	p := assert.Must(NewPage())(t)
	mem := assert.Must(unix.Mmap(int(p.File().Fd()), 0, PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))(t)
	t.Cleanup(func() {
		assert.ErrorIs(t, "unix.Munmap", unix.Munmap(mem), nil)
		p.Close()
	})
	return p, mem
}

func (o other) word(offset int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&o[offset])) }

// claim is px_claim of pyembed/channel_page.h.
func (o other) claim(slot int, id uint64) bool {
	base := pageHeader + slot*pageSlot
	o.word(base + offRunning).Store(id)
	if o.word(base+offClaims+8*ClaimIndex(id)).CompareAndSwap(id<<claimShift|uint64(ClaimQueued),
		id<<claimShift|uint64(ClaimRunning)) {
		return true
	}
	o.word(base + offRunning).Store(0)
	return false
}

func TestPage_IsShared(t *testing.T) {
	noLeak(t)
	p, o := page(t)
	got := o.word(offMagic).Load()
	assert.True(t, got == pageMagic, "magic %#x, want %#x", got, uint64(pageMagic))
	for _, i := range []int{0, 1, MaxSlots - 1} {
		s, base := p.Slot(i), pageHeader+i*pageSlot
		id := MakeID(0, uint64(i)+77, 63)
		assert.Equal(t, "running prediction", s.Running(), 0)
		assert.Equal(t, "claim word", s.Claim(id), ClaimFree)
		s.Queue(id)
		assert.Equal(t, fmt.Sprintf("slot %d: the queued word", i), o.word(base+offClaims+8*63).Load(), id<<2|1)
		if !o.claim(i, id) || s.Running() != id || s.Claim(id) != ClaimRunning {
			t.Errorf("slot %d: it runs %#x in state %d, want %#x claimed and running", i, s.Running(), s.Claim(id), id)
		}
		for again, want := range map[bool]uint64{false: id, true: id | 1<<63} {
			s.SetCancel(id, again)
			assert.Equal(t, fmt.Sprintf("slot %d: the cancel word", i), o.word(base+offCancel).Load(), want)
		}
	}
}

func TestPage_IDs(t *testing.T) {
	for claim := range Claims {
		for _, serial := range []uint64{0, 1, 2, 1 << 40} {
			id := MakeID(0, serial, claim)
			assert.Equal(t, "index of the claim word", ClaimIndex(id), claim)
			assert.Equal(t, "id/Claims", id/Claims, serial)
		}
	}
}

func TestPage_ClaimMoves(t *testing.T) {
	p, o := page(t)
	s := p.Slot(3)
	first, second := MakeID(0, 1, 5), MakeID(0, 2, 5) // of one word

	s.Queue(first)
	assert.True(t, s.Claim(second) == ClaimFree && !s.Revoke(second) && !o.claim(3, second),
		"another id of the same word was taken for the one in it, want neither side to get it")
	assert.Equal(t, "running after a claim that failed", s.Running(), 0)
	assert.True(t, s.Revoke(first) && s.Claim(first) == ClaimRevoked,
		"a queued id could not be revoked, want s.Revoke(first) true and Claim %d", ClaimRevoked)
	assert.True(t, !s.Revoke(first) && !o.claim(3, first),
		"a revoked id was taken once more, want s.Revoke(first) false and o.claim(3, first) false")
	s.Queue(second)
	assert.True(t, !s.Revoke(first) && !o.claim(3, first),
		"an id whose word was used again was taken, want s.Revoke(first) false and o.claim(3, first) false")
	assert.True(t, o.claim(3, second) && !o.claim(3, second) && !s.Revoke(second),
		"a running id was taken once more, want o.claim(3, second) true, then false and s.Revoke(second) false")
	assert.Equal(t, "claim word of the second", s.Claim(second), ClaimRunning)
	assert.Equal(t, "claim word of the first", s.Claim(first), ClaimFree)
}

// TestPage_ClaimRace has the two sides reach for the same ids at once, a million times: exactly one gets each, and
// neither gets one whose word was used again meanwhile.
func TestPage_ClaimRace(t *testing.T) {
	const rounds = 1_000_000 / Claims
	p, o := page(t)
	s := p.Slot(0)
	var ids, stale [Claims]uint64
	var front, worker [Claims]bool
	start, done := make(chan bool), make(chan bool)
	go func() { // the worker, from the first to the last
		round := 0
		for range start {
			if round++; round%4 == 1 { // on one CPU neither would ever come in between: each steps back at times
				runtime.Gosched()
			}
			for i := range ids {
				if stale[i] != 0 && o.claim(0, stale[i]) {
					t.Errorf("the worker claimed %#x, whose word is %#x's, want 0", stale[i], ids[i])
				}
				worker[i] = o.claim(0, ids[i])
			}
			done <- true
		}
	}()
	wins := 0
	for round := range uint64(rounds) {
		for i := range ids {
			stale[i], ids[i] = ids[i], MakeID(0, round+1, i)
			s.Queue(ids[i])
		}
		start <- true
		if round%4 == 2 {
			runtime.Gosched()
		}
		for k := range ids { // the front, from both ends
			i := k
			if round%2 == 0 {
				i = Claims - 1 - k
			}
			if stale[i] != 0 && s.Revoke(stale[i]) {
				t.Errorf("the front revoked %#x, whose word is %#x's, want 0", stale[i], ids[i])
			}
			front[i] = s.Revoke(ids[i])
			if k%8 == 0 {
				runtime.Gosched()
			}
		}
		<-done
		for i := range ids {
			assert.TrueNow(t, front[i] != worker[i], "round %d, word %d: front %v, worker %v, want another", round, i, front[i], worker[i])
			if front[i] {
				wins++
			}
		}
	}
	close(start)
	t.Logf("the front won %d of %d", wins, rounds*Claims)
	assert.True(t, wins != 0 && wins != rounds*Claims,
		"one side won them all: this was not a race: got %d, want not 0 and not %d", wins, rounds*Claims)
}

// TestPage_ConsumedTellsWhatWasWritten: the worker adds what lies in a pipe to what the front took of it, while
// the front reads, and so knows exactly what was ever written (position of pyembed/interpreter_logs.c).
func TestPage_ConsumedTellsWhatWasWritten(t *testing.T) {
	noLeak(t)
	p, o := page(t)
	for name, c := range map[string]struct {
		counter Consumed
		offset  int
	}{"stdout": {p.Stdout(), offStdout}, "stderr": {p.Stderr(), offStderr}} {
		t.Run(name, func(t *testing.T) {
			var fds [2]int
			assert.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
			assert.NoError(t, unix.SetNonblock(fds[0], true))
			done := make(chan uint64)
			go func() { done <- takeAll(t, fds[0], c.counter) }()
			written := uint64(0)
			for i := range 20_000 {
				n := assert.Must(unix.Write(fds[1], filled(1+i%30, 1)))(t)
				written += uint64(n)
				assert.EqualNow(t, fmt.Sprintf("write %d: the position", i), o.position(t, c.offset, fds[1]), written)
			}
			unix.Close(fds[1])
			total := <-done
			assert.True(t, total == written && c.counter.Bytes() == written,
				"%d bytes read, %d counted, %d written, want %d and %d", total, c.counter.Bytes(), written, written, written)
		})
	}
}

// takeAll reads a pipe to its end, as the front does.
func takeAll(t *testing.T, fd int, counter Consumed) (total uint64) {
	defer unix.Close(fd)
	buf := make([]byte, 100)
	for {
		counter.Begin()
		n, err := unix.Read(fd, buf)
		counter.End(max(n, 0))
		total += uint64(max(n, 0))
		switch {
		case n > 0 || err == unix.EINTR:
		case err == unix.EAGAIN:
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) // or else it is tried again
		default:
			assert.Equal(t, "error", err, nil)
			return total
		}
	}
}

// position returns what was ever written into a pipe, as position of pyembed/interpreter_logs.c finds it.
func (o other) position(t *testing.T, offset, fd int) uint64 {
	for {
		before, taken := o.word(offset).Load(), o.word(offset+8).Load()
		if before%2 == 0 {
			left := assert.Must(unix.IoctlGetInt(fd, unix.TIOCINQ))(t)
			if o.word(offset).Load() == before {
				return taken + uint64(left)
			}
		}
		runtime.Gosched()
	}
}
