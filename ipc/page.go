package ipc

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The shared page: words that both processes read and write with atomic operations, in a memory
// file that the front makes and the worker inherits. All words are 64 bits, native byte order (both
// processes are one binary on one machine). pyembed/channel_page.h has the same layout for C; a test
// compares them.
const (
	pageMagic    = 0x314e4f494e4950 // "PINION1"
	pageHeader   = 4096             // bytes before the first slot
	pageSlot     = 1024             // bytes of a slot
	pageOut      = 16384            // bytes of what a slot's channel has not sent
	offMagic     = 0
	offStdout    = 64  // two words: version, consumed
	offStderr    = 128 // two words: version, consumed
	offBusyPoll  = 192 // how long the worker may busy-poll, in nanoseconds
	offOwn       = 256 // of a prediction's own pipes: stdout's two words, and 64 bytes further stderr's
	offOwnEnded  = 384 // how many pairs of those the front has released
	offOwnFull   = 392 // not 0 if the front reads so many of them that it accepts no more
	offLost      = 448 // not 0 if the worker ended itself, because its control channel closed
	offScore     = 456 // the worker's oom_score_adj, if no other child of the front has the same; otherwise 0
	offCrashed   = 464 // 1 + the slot whose thread has crashed the worker
	offInterrupt = 512 // not 0 if a KindInterrupt is on its way
	offRunning   = 0   // of a slot: the id that the model has, or 0
	offNoticed   = 8   // of a slot with a thread: the id that the worker's main thread has tried to end
	offGivenUp   = 72  // of a slot with a thread: the id whose thread is not waited for
	offPaused    = 80  // of a slot: the id whose model must not yield more items for now, or 0
	offCancel    = 64  // of a slot: the id that is to be canceled
	offClaims    = 128 // of a slot: Claims words
	offOutBegin  = 0   // of an out: the position in the stream of its first byte
	offOutLen    = 8   // of an out: the number of its bytes
	offOutData   = 64
	offSteps     = 640 // of a slot of a rank: twice the steps that its prediction has passed, plus 1 if it must wait
	offStop      = 648 // of a slot of a rank: the step at which it stops, or 0 if none is named
	claimShift   = 2
	claimMask    = 1<<claimShift - 1
	claimIDBits  = 64 - claimShift
)

const (
	// Claims is how many requests a slot's channel can hold at once.
	Claims = 64
	// MaxSlots is how many slots a worker can have.
	MaxSlots = 1000
	// PageSize is the size of the shared page in bytes. Untouched parts cost no memory.
	PageSize = pageHeader + MaxSlots*(pageSlot+pageOut)
)

// Claim is the state of a request that was handed to a worker, in the low bits of its claim word. The rest of the word
// is the request's id, so that a reused word never matches.
type Claim uint64

const (
	ClaimFree    Claim = 0
	ClaimQueued  Claim = 1 // front: it is in the socket
	ClaimRunning Claim = 2 // worker, from ClaimQueued: the model has it
	ClaimRevoked Claim = 3 // front, from ClaimQueued: the worker skips it
)

// MakeID joins a slot's index, a serial number and the index of a claim word to the id that frames carry.
func MakeID(slot int, serial uint64, claim int) uint64 {
	return uint64(slot)<<slotShift | serial<<bits.TrailingZeros(Claims) | uint64(claim)
}

// slotShift leaves room for MaxSlots below the bits of a claim word and of cancelAgain.
const slotShift = 48

// SlotIndex returns the index of an id's slot.
func SlotIndex(id uint64) int { return int(id >> slotShift) }

// ClaimIndex returns the index of an id's claim word.
func ClaimIndex(id uint64) int { return int(id & (Claims - 1)) }

// Page is the front's mapping of the shared page.
type Page struct {
	mem  []byte
	file *os.File
}

func NewPage() (*Page, error) {
	fd, err := unix.MemfdCreate("pinion-page", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create shared page: %w", err)
	}
	file := os.NewFile(uintptr(fd), "pinion-page")
	if err := file.Truncate(PageSize); err != nil {
		file.Close()
		return nil, fmt.Errorf("size shared page: %w", err)
	}
	mem, err := unix.Mmap(fd, 0, PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("map shared page: %w", err)
	}
	p := &Page{mem: mem, file: file}
	p.word(offMagic).Store(pageMagic)
	return p, nil
}

// File returns the page's memory file, to be inherited by the worker.
func (p *Page) File() *os.File { return p.file }

// Close unmaps the page, which must not be used afterwards.
func (p *Page) Close() {
	_ = unix.Munmap(p.mem) // fails only for an address that was never mapped
	p.mem = nil
	p.file.Close()
}

func (p *Page) word(offset int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&p.mem[offset]))
}

// Consumed is the front's counter of the bytes that it read from one of the worker's log pipes. The worker adds what is
// still in the pipe, and so knows exactly how much was ever written. Begin and End surround each read, so that the
// worker sees that one is in progress.
type Consumed struct{ version, bytes *atomic.Uint64 }

// Stdout and Stderr return the counters of the two pipes.
func (p *Page) Stdout() Consumed { return Consumed{p.word(offStdout), p.word(offStdout + 8)} }
func (p *Page) Stderr() Consumed { return Consumed{p.word(offStderr), p.word(offStderr + 8)} }

// LostControl reports whether the worker has ended itself because its control channel closed.
func (p *Page) LostControl() bool { return p.word(offLost).Load() != 0 }

// SetScore tells the worker its oom_score_adj, if no other child of the front has the same; otherwise 0.
func (p *Page) SetScore(score int) { p.word(offScore).Store(uint64(score)) }

// Crashed returns 1 + the slot whose thread has crashed the worker, or 0.
func (p *Page) Crashed() int { return int(p.word(offCrashed).Load() % (MaxSlots + 1)) }

// BeginInterrupt reports whether a KindInterrupt must be sent, because none is on its way. So interrupts never fill
// the socket of a worker that does not read.
func (p *Page) BeginInterrupt() bool { return p.word(offInterrupt).Swap(1) == 0 }

// PredictionPipes returns the counters of the pipes that a prediction has to itself.
func (p *Page) PredictionPipes() (stdout, stderr Consumed) {
	return Consumed{p.word(offOwn), p.word(offOwn + 8)}, Consumed{p.word(offOwn + 64), p.word(offOwn + 72)}
}

// EndPredictionPipes lets the worker make the next pair of such pipes, which are counted from 0.
func (p *Page) EndPredictionPipes() {
	p.word(offOwn + 8).Store(0)
	p.word(offOwn + 72).Store(0)
	p.word(offOwnEnded).Add(1)
}

// SetPredictionPipesFull says whether the worker must do without such pipes.
func (p *Page) SetPredictionPipesFull(full bool) {
	var word uint64
	if full {
		word = 1
	}
	p.word(offOwnFull).Store(word)
}

// Begin marks the start of a read.
func (c Consumed) Begin() { c.version.Add(1) }

// End marks the end of a read of n bytes.
func (c Consumed) End(n int) {
	c.bytes.Add(uint64(n))
	c.version.Add(1)
}

// Bytes returns how much was read so far.
func (c Consumed) Bytes() uint64 { return c.bytes.Load() }

// Slot is the part of a page that belongs to one slot.
type Slot struct {
	page *Page
	base int
	out  int
}

func (p *Page) Slot(i int) Slot {
	return Slot{p, pageHeader + i*pageSlot, pageHeader + MaxSlots*pageSlot + i*pageOut}
}

// unsent returns what a dead worker had queued in the slot's channel, from a position of the stream on.
func (s Slot) unsent(position uint64) []byte {
	begin, length := s.page.word(s.out+offOutBegin).Load(), s.page.word(s.out+offOutLen).Load()
	if position < begin || position > begin+length || length > pageOut-offOutData {
		return nil
	}
	from := s.out + offOutData
	return s.page.mem[from+int(position-begin) : from+int(length)]
}

// Running returns the id that the model has at this moment, or 0.
func (s Slot) Running() uint64 { return s.page.word(s.base + offRunning).Load() }

// Noticed reports whether the worker's main thread has tried to end an id, for which it needs the GIL.
func (s Slot) Noticed(id uint64) bool { return s.page.word(s.base+offNoticed).Load() == id }

// GiveUp lets the worker exit without waiting for the thread that runs an id.
func (s Slot) GiveUp(id uint64) { s.page.word(s.base + offGivenUp).Store(id) }

// cancelAgain is the bit of a cancel word that tells a second cancellation of the same id from the first.
const cancelAgain = 1 << 63

// SetCancel sets the id that the worker's signal handler cancels: once for each value of again, however often the
// signal comes.
func (s Slot) SetCancel(id uint64, again bool) {
	if again {
		id |= cancelAgain
	}
	s.page.word(s.base + offCancel).Store(id)
}

// Pause makes the model that runs id wait before it yields its next item.
func (s Slot) Pause(id uint64) { s.page.word(s.base + offPaused).Store(id) }

// Resume ends the pause.
func (s Slot) Resume() {
	if word := s.page.word(s.base + offPaused); word.Swap(0) != 0 {
		wake(word)
	}
}

// wake wakes the worker, which sleeps on a word.
func wake(word *atomic.Uint64) {
	const wake = 1 // FUTEX_WAKE of linux/futex.h
	_, _, _ = unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), wake, math.MaxInt32)
}

func (s Slot) claim(id uint64) *atomic.Uint64 {
	return s.page.word(s.base + offClaims + 8*ClaimIndex(id))
}

// Queue marks id as handed over. It must be called before the id's frame is sent.
func (s Slot) Queue(id uint64) { s.claim(id).Store(id<<claimShift | uint64(ClaimQueued)) }

// Revoke takes id back. It returns false if the worker has begun it, or if the word belongs to another id.
func (s Slot) Revoke(id uint64) bool {
	return s.claim(id).CompareAndSwap(id<<claimShift|uint64(ClaimQueued), id<<claimShift|uint64(ClaimRevoked))
}

// Claim returns the state of id, or ClaimFree if the word belongs to another id.
func (s Slot) Claim(id uint64) Claim {
	w := s.claim(id).Load()
	if w>>claimShift != id&(1<<claimIDBits-1) {
		return ClaimFree
	}
	return Claim(w & claimMask)
}
