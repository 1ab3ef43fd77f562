package memory

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// resident returns how many bytes of a file have memory.
func resident(t *testing.T, fd int) int64 {
	t.Helper()
	var st unix.Stat_t
	assert.NoError(t, unix.Fstat(fd, &st))
	return st.Blocks * 512
}

// TestShared_IsReused: a piece that is free is the next request's, one that a worker may still use is no request's, and
// its pages are free though a worker has it mapped.
func TestShared_IsReused(t *testing.T) {
	pool := &SharedPool{Idle: 8 << 20}
	s := pool.Get(1_000_000, 0)
	assert.TrueNow(t, s != nil && len(s.Data) == 1_000_000 && s.Room == 1<<20,
		"got %+v, want len(Data) 1_000_000 bytes and Room %d", s, 1<<20)
	assert.True(t, pool.Get(SharedMin-1, 0) == nil && pool.Get(SharedMost+1, 0) == nil,
		"a body of another size is shared, want pool.Get(SharedMin-1, 0) nil and pool.Get(SharedMost+1, 0) nil")
	clear(s.Data)
	workers, err := unix.Dup(s.FD)
	assert.NoError(t, err)
	defer unix.Close(workers)
	err = unix.Ftruncate(workers, 1)
	assert.True(t, err != nil, "a worker can shorten the file, after which the front's reads fail")
	got := resident(t, workers)
	assert.True(t, got >= 1_000_000, "%d bytes are resident, want at least 1_000_000", got)
	s.Free(true)
	other := pool.Get(600_000, 0)
	assert.Equal(t, "other", other, s)
	assert.Equal(t, "number of other data", len(other.Data), 600_000)
	other.Free(false)
	assert.Equal(t, "resident bytes after its end", resident(t, workers), 0)
	if third := pool.Get(600_000, 0); third == s {
		t.Errorf("a worker may still write to it: got %+v, want anything but %+v", third, s)
	} else {
		third.Free(true)
	}
}

// TestShared_IsAligned: what follows the head of a body is aligned, also in a piece that is used again.
func TestShared_IsAligned(t *testing.T) {
	pool := &SharedPool{Idle: 8 << 20}
	for _, head := range []int{0, 1, 63, 64, 130, -1, 1 << 40} {
		s := pool.Get(100_000, head)
		assert.TrueNow(t, s != nil && len(s.Data) == 100_000, "head %d: got %+v, want s non-nil and len(Data) 100_000 bytes", head, s)
		begin := uintptr(unsafe.Pointer(&s.Data[0])) - uintptr(unsafe.Pointer(&s.All[0]))
		assert.True(t, begin < sharedAlign && (begin+uintptr(head))%sharedAlign == 0,
			"head %d: the body is at %d, want begin less than %d and 0", head, begin, sharedAlign)
		s.Free(true)
	}
	got := pool.Get(SharedMost, 1)
	assert.True(t, got == nil, "a body that reaches beyond its room is shared: got %+v, want nil", got)
}

// TestShared_IsLeft: a worker that keeps the body has it, and not the room behind it; no other request gets the piece.
func TestShared_IsLeft(t *testing.T) {
	pool := &SharedPool{Idle: 8 << 20}
	s := pool.Get(1<<16, 0)
	copy(s.Data, "kept")
	copy(s.All[s.Room:], "answer")
	workers, err := unix.Dup(s.FD)
	assert.NoError(t, err)
	defer unix.Close(workers)
	s.Leave()
	got := make([]byte, 4)
	_, err = unix.Pread(workers, got, 0)
	assert.True(t, err == nil && string(got) == "kept", "the body is %q (%v), want kept", got, err)
	assert.Equal(t, "resident bytes", resident(t, workers), 4096)
	assert.True(t, pool.live == 0 && s.All == nil, "%d pieces are left, want live 0 and All nil", pool.live)
}

// TestShared_Idle: unused pieces are bounded, and go in time.
func TestShared_Idle(t *testing.T) {
	pool := &SharedPool{Idle: 3 << 20}
	var pieces []*Shared
	for range 3 {
		s := pool.Get(1<<20, 0)
		s.Wrote(s.Room + 1<<19)
		pieces = append(pieces, s)
	}
	for _, s := range pieces {
		s.Free(true)
	}
	assert.True(t, pool.bytes == 3<<20 && pool.live == 2 && pieces[2].All == nil,
		"%d bytes of %d pieces are kept, want two of 1.5 MiB", pool.bytes, pool.live)
	pool.timer.Stop()
	pieces[0].freed = time.Now().Add(-sharedIdle)
	pool.trim()
	assert.True(t, pool.live == 1 && pieces[0].All == nil && pieces[1].All != nil,
		"got %d pieces, want the one that was idle for long gone, and the other there", pool.live)
	assert.TrueNow(t, pool.timer != nil && pool.timer.Stop(), "nothing will free the other one")
	pieces[1].freed = time.Now().Add(-sharedIdle)
	pool.trim()
	assert.True(t, pool.live == 0 && pool.bytes == 0 && pool.timer == nil,
		"%d pieces, %d bytes, timer %v are left, want 0, 0 and nil", pool.live, pool.bytes, pool.timer)
}

// TestShared_IsBounded: each piece takes a descriptor.
func TestShared_IsBounded(t *testing.T) {
	pool := &SharedPool{}
	pool.live = sharedLive
	got := pool.Get(SharedMin, 0)
	assert.True(t, got == nil, "there are more pieces than may be: got %+v, want nil", got)
}
