package memory

import (
	"fmt"
	"math/bits"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc/bufpool"
)

const (
	// SharedMin is the size in bytes from which a body is worth shared memory: a smaller one is faster through a
	// socket.
	SharedMin = 64 << 10
	// SharedMost is the size in bytes of the largest body in shared memory, and of the room for an answer behind it.
	SharedMost = 16 << 20
	// sharedLive is how many pieces there may be: each takes a descriptor.
	sharedLive = 256
	// sharedIdle is for how long a piece stays that is not used.
	sharedIdle = 5 * time.Second
	// sharedAlign is what the address of the first tensor is a multiple of.
	sharedAlign = 64
)

const (
	minClass = 16 // 1<<minClass is SharedMin
	maxClass = 24
)

// Shared is a request's body in memory of which a worker gets the file. The worker can read the body there, and write
// its answer into the room behind it. It cannot shorten the file.
type Shared struct {
	Data []byte // the body
	All  []byte // the whole file
	Room int    // where in All the room for the answer begins
	FD   int    // the file

	pool    *SharedPool
	written int       // bytes of the room that were ever written
	freed   time.Time // when it became idle
}

// SharedPool keeps pieces of shared memory that are not used for the next requests: new pages take longer than a copy.
// The zero value is ready.
type SharedPool struct {
	// Idle is how many bytes of unused memory it keeps at most, for sharedIdle.
	Idle int64

	mu    sync.Mutex
	idle  [maxClass - minClass + 1][]*Shared // by the room for a body, the one used last at the end
	bytes int64                              // of them
	live  int
	timer *time.Timer // nil means there is none that is idle
}

// Get returns memory for a body of that size in bytes, or nil if there is none. What follows the first head bytes is
// aligned.
func (p *SharedPool) Get(size, head int) *Shared {
	from := -head & (sharedAlign - 1)
	if size < SharedMin || size > SharedMost-from {
		return nil
	}
	class := bits.Len(uint(from+size-1)) - minClass
	p.mu.Lock()
	if n := len(p.idle[class]); n > 0 {
		s := p.idle[class][n-1]
		p.idle[class] = p.idle[class][:n-1]
		p.bytes -= s.size()
		p.mu.Unlock()
		s.Data = s.All[from : from+size : from+size]
		return s
	}
	if p.live == sharedLive {
		p.mu.Unlock()
		return nil
	}
	p.live++
	p.mu.Unlock()
	s, err := newShared(1 << (class + minClass))
	if err != nil { // the request is sent without shared memory
		p.mu.Lock()
		p.live--
		p.mu.Unlock()
		return nil
	}
	s.pool, s.Data = p, s.All[from:from+size:from+size]
	return s
}

func newShared(room int) (*Shared, error) {
	fd, err := unix.MemfdCreate("pinion-tensors", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create shared memory: %w", err)
	}
	mapped, err := mapShared(fd, room+SharedMost)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Shared{All: mapped, Room: room, FD: fd}, nil
}

// mapShared gives a file that length for good, and maps it. No page is taken before it is used.
func mapShared(fd, length int) ([]byte, error) {
	if err := unix.Ftruncate(fd, int64(length)); err != nil {
		return nil, fmt.Errorf("size shared memory: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
		unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("seal shared memory: %w", err)
	}
	mapped, err := unix.Mmap(fd, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	return mapped, nil
}

// Wrote notes that the worker has written the room up to that offset in All.
func (s *Shared) Wrote(end int) { s.written = max(s.written, end-s.Room) }

// size returns about how many bytes of memory it takes.
func (s *Shared) size() int64 { return int64(s.Room + s.written) }

// Free gives the memory back. unused means that no worker can still read or write it, so another request may have it.
func (s *Shared) Free(unused bool) {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if !unused || p.bytes+s.size() > p.Idle {
		p.live--
		s.unmap(0)
		return
	}
	bufpool.Poison(s.Data)
	bufpool.Poison(s.All[s.Room : s.Room+s.written])
	class := bits.Len(uint(s.Room-1)) - minClass
	s.freed = time.Now()
	p.idle[class] = append(p.idle[class], s)
	p.bytes += s.size()
	if p.timer == nil {
		p.timer = time.AfterFunc(sharedIdle, p.trim)
	}
}

// Leave gives the memory back except the body, which a worker still uses: that goes when the worker has unmapped it.
func (s *Shared) Leave() {
	s.pool.mu.Lock()
	s.pool.live--
	s.pool.mu.Unlock()
	s.unmap(s.Room)
}

// trim frees what was not used for sharedIdle.
func (p *SharedPool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := 0
	for class, list := range p.idle {
		old := 0
		for old < len(list) && time.Since(list[old].freed) >= sharedIdle {
			p.live--
			p.bytes -= list[old].size()
			list[old].unmap(0)
			old++
		}
		p.idle[class] = append(list[:0], list[old:]...)
		clear(list[len(list)-old:])
		left += len(list) - old
	}
	p.timer = nil
	if left > 0 {
		p.timer = time.AfterFunc(sharedIdle, p.trim)
	}
}

// unmap gives the memory back from that offset on, also if a worker still has the file mapped.
func (s *Shared) unmap(from int) {
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	_ = unix.Fallocate(s.FD, punch, int64(from), int64(len(s.All)-from)) // or when the worker ends
	_ = unix.Munmap(s.All)                                               // cannot fail for what unix.Mmap returned
	unix.Close(s.FD)
	s.All, s.Data = nil, nil
}
