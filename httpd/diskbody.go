package httpd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/ipc/bufpool"
	"pinion/runtime/memory"
)

const (
	// diskFrom is the size in bytes from which a body goes to disk when memory has no room for it. A smaller one waits.
	diskFrom = 16 << 20
	// diskSlice is how many bytes of such a body are read at once.
	diskSlice = 256 << 10
)

// diskBody is a request body in a file without a name, read through a private mapping. It implements predict.DiskBody.
type diskBody struct{ data []byte }

// Unmap implements predict.DiskBody.
func (d *diskBody) Unmap(unused bool) {
	data := d.data
	d.data = nil
	switch {
	case len(data) == 0:
	case unused:
		_ = unix.Munmap(data) // cannot fail for what unix.Mmap returned
	default:
		// A write to a worker may still read these addresses. They stay reserved, without the file behind them.
		_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(&data[0]), uintptr(len(data)), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED)
	}
}

// spool makes a file for a body of that size in bytes (0: unknown), or returns nil where bodies cannot go to disk.
func (s *Server) spool(size int64) (*os.File, error) {
	if s.opt.Spool == nil {
		return nil, nil
	}
	file, err := s.opt.Spool(size)
	if err != nil {
		return nil, &roomError{size, fmt.Errorf("%w, and %w", memory.ErrFull, err)}
	}
	return file, nil
}

// toDisk stores a body in file, which it closes: head, which was read before, then the rest. The error is that of rest, or a
// *roomError of the disk.
func toDisk(file *os.File, head []byte, rest io.Reader) (*diskBody, error) {
	defer file.Close() // the mapping keeps the file
	slice := bufpool.Get(diskSlice)
	defer bufpool.Put(slice)
	total := 0
	failed := func(err error) error {
		return &roomError{int64(total), fmt.Errorf("%w, and the disk does not take it: %w", memory.ErrFull, err)}
	}
	for {
		if _, err := file.Write(head); err != nil {
			return nil, failed(errors.Unwrap(err)) // without the file's path
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
	if total == 0 {
		return &diskBody{}, nil
	}
	data, err := unix.Mmap(int(file.Fd()), 0, total, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, failed(err)
	}
	return &diskBody{data}, nil
}
