package logging

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// BufferSize is how many bytes of log wait for a reader that does not take them. A record that does not fit is dropped.
const BufferSize = 8 << 20

// retryPause is the time between two attempts to write to a descriptor that refuses: a full disk, a pipe without a
// reader.
const retryPause = time.Second

// writeSize is how much is written at once: by it Flush sees whether the reader still reads.
const writeSize = 64 << 10

// Sink writes the server's log to a descriptor. Write never blocks, even without a reader: a goroutine does the
// writing, and what exceeds the buffer is dropped and counted. Each Write is one record, written whole or not at all.
type Sink struct {
	fd    int
	limit int
	// notice makes the record that says how much was dropped. It is called without the lock.
	notice func(records, bytes uint64) []byte

	records, bytes atomic.Uint64 // dropped, ever

	mu            sync.Mutex
	changed       sync.Cond
	waiting       []byte // accepted and not yet taken by the writer
	writing       int    // bytes that the writer has taken and not yet written
	reported      uint64 // dropped records that a notice has reported
	reportedBytes uint64 // their bytes
	flushing      bool   // the process ends: a refused write is not tried again
	taken         uint64 // bytes that the descriptor took, ever
	tail          tail   // for those who watch the log
}

// Open starts a sink. notice is set before the first record.
func Open(fd, limit int) *Sink {
	s := &Sink{fd: fd, limit: limit}
	s.changed.L = &s.mu
	go s.run()
	return s
}

// Write takes a record in, or drops it. It implements io.Writer and never fails.
func (s *Sink) Write(record []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// An empty buffer takes a record of any size, because there is no other way to write it.
	if used := len(s.waiting) + s.writing; used > 0 && used+len(record) > s.limit {
		s.records.Add(1)
		s.bytes.Add(uint64(len(record)))
		return len(record), nil
	}
	if s.tail.watchers > 0 {
		s.tail.add(record)
	}
	s.waiting = append(s.waiting, record...)
	s.changed.Broadcast()
	return len(record), nil
}

// Dropped returns how much was dropped until now.
func (s *Sink) Dropped() (records, bytes uint64) { return s.records.Load(), s.bytes.Load() }

// Flush waits until everything is written, or the reader has taken nothing for stall, and at most ten times that in
// all.
func (s *Sink) Flush(stall time.Duration) {
	late := false
	alarm := time.AfterFunc(10*stall, func() {
		s.mu.Lock()
		late = true
		s.changed.Broadcast()
		s.mu.Unlock()
	})
	defer alarm.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushing = true
	s.changed.Broadcast()
	for taken := ^uint64(0); !late && !s.idle() && taken != s.taken; {
		taken = s.taken
		s.waitFor(stall, func() bool { return late || s.idle() })
	}
}

// waitFor waits until so returns true, for atMost. Called with the lock held.
func (s *Sink) waitFor(atMost time.Duration, so func() bool) {
	expired := false
	alarm := time.AfterFunc(atMost, func() {
		s.mu.Lock()
		expired = true
		s.changed.Broadcast()
		s.mu.Unlock()
	})
	defer alarm.Stop()
	for !expired && !so() {
		s.changed.Wait()
	}
}

// idle reports whether there is nothing to write. Called with the lock held.
func (s *Sink) idle() bool {
	return len(s.waiting) == 0 && s.writing == 0 && s.reported == s.records.Load()
}

// run writes what comes, for as long as the process lives.
func (s *Sink) run() {
	var free []byte
	s.mu.Lock()
	for {
		for len(s.waiting) == 0 && s.reported == s.records.Load() {
			s.changed.Wait()
		}
		batch := s.waiting
		s.writing, s.waiting = len(batch), free[:0]
		records, size := s.records.Load()-s.reported, s.bytes.Load()-s.reportedBytes
		s.reported, s.reportedBytes = s.reported+records, s.reportedBytes+size
		s.mu.Unlock()
		if records > 0 && s.notice != nil { // what was dropped came after this batch and before anything newer
			batch = append(batch, s.notice(records, size)...)
		}
		s.writeAll(batch)
		if free = batch[:0]; cap(free) > 64<<10 {
			free = nil // a burst's buffer is not kept
		}
		s.mu.Lock() // held until the next batch is taken: nothing newer gets room before the notice of what was dropped
		s.writing = 0
		s.changed.Broadcast()
	}
}

// writeAll writes a batch, however long that takes.
func (s *Sink) writeAll(batch []byte) {
	for len(batch) > 0 {
		// Not by os.File: at a broken pipe on descriptor 1 or 2 that ends the process.
		n, err := unix.Write(s.fd, batch[:min(len(batch), writeSize)])
		if n > 0 {
			batch = batch[n:]
			s.mu.Lock()
			s.taken += uint64(n)
			s.mu.Unlock()
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN: // another holder of the descriptor has made it non-blocking
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}, int(retryPause.Milliseconds()))
		default:
			if !s.pause() {
				return
			}
		}
	}
}

// pause waits before a refused write is tried again; false means it is not to be.
func (s *Sink) pause() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitFor(retryPause, func() bool { return s.flushing })
	return !s.flushing
}
