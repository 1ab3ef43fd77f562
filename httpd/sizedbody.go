package httpd

import (
	"errors"
	"io"
	"os"

	"pinion/httpd/transport"
	"pinion/ipc/bufpool"
	"pinion/runtime/memory"
	"pinion/runtime/request"
)

// readSized reads a body of that size in bytes, for takeBodyIn.
func (s *Server) readSized(stream io.Reader, c *transport.Conn, size int64, in bodyRoom) (received, error) {
	copies := int64(0)
	if size > memory.Small {
		copies = in.copies * size
	}
	cost := bodyCost(size) + copies
	first, err := s.readFirst(stream, c, size, cost)
	if err != nil {
		return received{}, err
	}
	read := int64(len(first))
	file, err := s.reserve(c, size, cost, read)
	if err != nil || file != nil {
		defer s.dropFirst(first)
		if err != nil {
			return received{}, err
		}
		return readToDisk(file, first, stream, size)
	}
	c.Hold(cost-read, size-read)
	body := received{charged: cost, copies: copies}
	if in.pool != nil && size <= memory.SharedMost {
		body.shared = in.pool.Get(int(size), in.head)
	}
	switch {
	case body.shared != nil:
		body.data = body.shared.Data
	case size > bufpool.Max:
		body.data = make([]byte, size) // pages are touched only when their bytes arrive
	default:
		body.data = bufpool.Get(int(size))
	}
	if first != nil {
		copy(body.data, first)
		bufpool.Put(first)
	}
	if _, err := io.ReadFull(stream, body.data[read:]); err != nil {
		if body.shared != nil {
			body.shared.Free(true)
		} else {
			bufpool.Put(body.data)
		}
		s.opt.Memory.Free(cost)
		return received{}, &bodyError{err}
	}
	return body, nil
}

// readFirst reads the first memory.Small bytes of a larger body, and charges them, so that a body that is only
// announced takes no memory from others. It reads nothing of a body that cannot fit.
func (s *Server) readFirst(stream io.Reader, c *transport.Conn, size, cost int64) ([]byte, error) {
	if size <= memory.Small || cost > s.opt.Memory.Max() {
		return nil, nil
	}
	if err := s.awaitRoom(c, memory.Small); err != nil {
		return nil, err
	}
	c.Hold(memory.Small, size)
	first := bufpool.Get(memory.Small)
	if _, err := io.ReadFull(stream, first); err != nil {
		s.dropFirst(first)
		return nil, &bodyError{err}
	}
	return first, nil
}

func (s *Server) dropFirst(first []byte) {
	s.opt.Memory.Free(int64(len(first)))
	bufpool.Put(first)
}

// reserve charges a body, of which some bytes are charged already, or makes a file for it.
func (s *Server) reserve(c *transport.Conn, size, cost, charged int64) (*os.File, error) {
	if size >= diskFrom {
		if s.opt.Memory.TryBody(cost-charged, cost) {
			return nil, nil
		}
		if file, err := s.spool(size); file != nil || err != nil {
			return file, err
		}
	}
	return nil, s.awaitRoom(c, cost-charged)
}

// readToDisk reads a body of that size in bytes into file; first was read before.
func readToDisk(file *os.File, first []byte, rest io.Reader, size int64) (received, error) {
	disk, err := toDisk(file, first, io.LimitReader(rest, size-int64(len(first))))
	if full := (*request.RoomError)(nil); err != nil && !errors.As(err, &full) {
		return received{}, &bodyError{err}
	} else if err != nil {
		return received{}, err
	}
	if int64(len(disk.Data)) < size {
		disk.Unmap(true)
		return received{}, &bodyError{io.ErrUnexpectedEOF}
	}
	return received{data: disk.Data, disk: disk}, nil
}
