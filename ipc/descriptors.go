package ipc

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// descriptors holds the received descriptors, in order, until their frames claim them. It has its own lock, because
// Close may be called at any time and must leave none open.
type descriptors struct {
	mu     sync.Mutex
	fds    []int
	closed bool
}

// lost stands for a descriptor for which this process had no room.
const lost = -1

// maxDescriptors is how many descriptors one message can bring, as many as fit in the reader's buffer.
const maxDescriptors = (oobSize - unix.SizeofCmsghdr) / 4

// take collects the descriptors of one message.
func (in *descriptors) take(msg *unix.Msghdr, oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("%w: control message: %w", ErrProtocol, err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	got := 0
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return fmt.Errorf("%w: descriptors: %w", ErrProtocol, err)
		}
		in.fds = append(in.fds, fds...)
		got += len(fds)
	}
	if in.closed {
		in.closeAll()
	}
	switch truncated := msg.Flags&unix.MSG_CTRUNC != 0; {
	case truncated && got < maxDescriptors: // there was room for more, so this process may have no more
		in.fds = append(in.fds, lost)
	case truncated:
		return fmt.Errorf("%w: too many descriptors in one message", ErrProtocol)
	}
	return nil
}

// next removes and returns the oldest descriptor, or lost.
func (in *descriptors) next() (fd int, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.fds) == 0 {
		return -1, false
	}
	fd = in.fds[0]
	in.fds = in.fds[1:]
	return fd, true
}

func (in *descriptors) len() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.fds)
}

func (in *descriptors) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.closeAll()
}

// closeAll closes the unclaimed descriptors. Called with the lock held.
func (in *descriptors) closeAll() {
	for _, fd := range in.fds {
		if fd != lost {
			unix.Close(fd)
		}
	}
	in.fds = nil
}
