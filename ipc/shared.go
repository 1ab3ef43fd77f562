package ipc

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SharedFile is a memory file that carries tensors to a worker and back, instead of its socket.
type SharedFile struct {
	FD   int
	Data []byte // the file, mapped
	Room int    // from this offset on the worker may write tensors of its answer
}

// sharedLeast is the size in bytes from which a tensor stays in the file. For smaller ones the socket is faster.
const sharedLeast = 64 << 10

// elsewhere is added to a tensor's number of dimensions if its elements are in the file of the request.
const elsewhere = 0x80

// Offset returns where in the file a part begins, or a negative number if it is not in the file.
func (f *SharedFile) Offset(part []byte) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(f.Data)))
	if at >= uintptr(len(f.Data)) {
		return -1
	}
	return int(at)
}

// refer returns parts with offsets in place of large tensors that are in the file. The part before a tensor's elements
// is its head.
func (f *SharedFile) refer(parts [][]byte) [][]byte {
	parts = slices.Clone(parts)
	for i := 1; i < len(parts); i++ {
		at := f.Offset(parts[i])
		if head := parts[i-1]; at >= 0 && len(parts[i]) >= sharedLeast && len(head) > 3 && head[0] == tensorMark {
			head = bytes.Clone(head) // it may be sent again
			head[2] |= elsewhere
			parts[i-1], parts[i] = head, binary.LittleEndian.AppendUint64(nil, uint64(at))
		}
	}
	return f.copied(parts)
}

// copied returns parts with copies of those that are in the file: if the worker does not read, the file may be reused
// for another request before the frame is written.
func (f *SharedFile) copied(parts [][]byte) [][]byte {
	for i, part := range parts {
		if f.Offset(part) >= 0 {
			parts[i] = bytes.Clone(part)
		}
	}
	return parts
}

// duplicate returns a descriptor of the file for one frame. The file's own may be closed before the frame is written.
func (f *SharedFile) duplicate() (int, error) {
	return unix.FcntlInt(uintptr(f.FD), unix.F_DUPFD_CLOEXEC, 3)
}
