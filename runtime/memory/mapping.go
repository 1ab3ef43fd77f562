package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mapping is the content of a file that stands for memory which the budget has no room for. It implements
// predict.DiskBody. The zero Mapping is empty.
type Mapping struct{ Data []byte }

// Map maps the first size bytes of file, which the caller may then close. Changes of Data do not reach the file.
func Map(file *os.File, size int) (*Mapping, error) {
	if size == 0 {
		return &Mapping{}, nil
	}
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return &Mapping{data}, nil
}

// Unmap frees the mapping. unused means that no write can still read it.
func (m *Mapping) Unmap(unused bool) {
	data := m.Data
	m.Data = nil
	switch {
	case len(data) == 0:
	case unused:
		_ = unix.Munmap(data) // cannot fail for what unix.Mmap returned
	default:
		// A write to a worker may still read these addresses. They stay reserved, without the file behind them.
		_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(&data[0]), uintptr(len(data)), unix.PROT_READ,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED)
	}
}
