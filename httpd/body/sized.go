package body

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
func (r *Reader) readSized(stream io.Reader, c *transport.Conn, size int64, in Room) (Body, error) {
	copies := int64(0)
	if size > memory.Small {
		copies = in.Copies * size
	}
	cost := bodyCost(size) + copies
	first, err := r.readFirst(stream, c, size, cost)
	if err != nil {
		return Body{}, err
	}
	read := int64(len(first))
	file, err := r.reserve(c, size, cost, read)
	if err != nil || file != nil {
		defer r.dropFirst(first)
		if err != nil {
			return Body{}, err
		}
		return readToDisk(file, first, stream, size)
	}
	c.Hold(cost-read, size-read)
	body := New(nil, cost, nil, r.Memory)
	body.copies = copies
	if in.Pool != nil && size <= memory.SharedMost {
		body.Shared = in.Pool.Get(int(size), in.Head)
	}
	switch {
	case body.Shared != nil:
		body.Data, body.Owned = body.Shared.Data, false
	case size > bufpool.Max:
		body.Data = make([]byte, size) // pages are touched only when their bytes arrive
	default:
		body.Data = bufpool.Get(int(size))
	}
	if first != nil {
		copy(body.Data, first)
		bufpool.Put(first)
	}
	if _, err := io.ReadFull(stream, body.Data[read:]); err != nil {
		if body.Shared != nil {
			body.Shared.Free(true)
		} else {
			bufpool.Put(body.Data)
		}
		r.Memory.Free(cost)
		return Body{}, &BrokenError{err}
	}
	return body, nil
}

// readFirst reads the first memory.Small bytes of a larger body, and charges them, so that a body that is only
// announced takes no memory from others. It reads nothing of a body that cannot fit.
func (r *Reader) readFirst(stream io.Reader, c *transport.Conn, size, cost int64) ([]byte, error) {
	if size <= memory.Small || cost > r.Memory.Max() {
		return nil, nil
	}
	if err := r.awaitRoom(c, memory.Small); err != nil {
		return nil, err
	}
	c.Hold(memory.Small, size)
	first := bufpool.Get(memory.Small)
	if _, err := io.ReadFull(stream, first); err != nil {
		r.dropFirst(first)
		return nil, &BrokenError{err}
	}
	return first, nil
}

func (r *Reader) dropFirst(first []byte) {
	r.Memory.Free(int64(len(first)))
	bufpool.Put(first)
}

// reserve charges a body, of which some bytes are charged already, or makes a file for it.
func (r *Reader) reserve(c *transport.Conn, size, cost, charged int64) (*os.File, error) {
	if size >= diskFrom {
		if r.Memory.TryBody(cost-charged, cost) {
			return nil, nil
		}
		if file, err := r.spool(size); file != nil || err != nil {
			return file, err
		}
	}
	return nil, r.awaitRoom(c, cost-charged)
}

// readToDisk reads a body of that size in bytes into file; first was read before.
func readToDisk(file *os.File, first []byte, rest io.Reader, size int64) (Body, error) {
	disk, err := toDisk(file, first, io.LimitReader(rest, size-int64(len(first))))
	if full := (*request.RoomError)(nil); err != nil && !errors.As(err, &full) {
		return Body{}, &BrokenError{err}
	} else if err != nil {
		return Body{}, err
	}
	if int64(len(disk.Data)) < size {
		disk.Unmap(true)
		return Body{}, &BrokenError{io.ErrUnexpectedEOF}
	}
	return New(disk.Data, 0, disk, nil), nil
}
