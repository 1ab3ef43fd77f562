package body

import (
	"fmt"
	"io"
	"os"

	"pinion/ipc/bufpool"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/request"
)

const (
	// diskFrom is the size in bytes from which a body goes to disk when memory has no room for it. A smaller one waits.
	diskFrom = 16 << 20
	// diskSlice is how many bytes of such a body are read at once.
	diskSlice = 256 << 10
)

// spool makes a file for a body of that size in bytes (0 means unknown), or returns nil where bodies cannot go to disk.
func (r *Reader) spool(size int64) (*os.File, error) {
	if r.Spool == nil {
		return nil, nil
	}
	file, err := r.Spool(size)
	if err != nil {
		return nil, &request.RoomError{Bytes: size, Cause: fmt.Errorf("%w, and %w", memory.ErrFull, err)}
	}
	return file, nil
}

// toDisk stores a body in file, which it closes: head, which was read before, then the rest. The error is that of rest, or a
// *request.RoomError of the disk.
func toDisk(file *os.File, head []byte, rest io.Reader) (*memory.Mapping, error) {
	defer file.Close() // the mapping keeps the file
	slice := bufpool.Get(diskSlice)
	defer bufpool.Put(slice)
	disk, total := files.Disk{File: file}, 0
	failed := func(err error) error {
		cause := fmt.Errorf("%w, and it cannot be written to disk: %w", memory.ErrFull, err)
		return &request.RoomError{Bytes: int64(total), Cause: cause}
	}
	for {
		if _, err := disk.Write(head); err != nil {
			return nil, failed(err)
		}
		total += len(head)
		n, err := rest.Read(slice)
		head = slice[:n]
		if n == 0 && err == io.EOF {
			break
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
	}
	mapped, err := memory.Map(file, total)
	if err != nil {
		return nil, failed(err)
	}
	return mapped, nil
}
