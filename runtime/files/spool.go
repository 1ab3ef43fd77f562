package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// otherDisk is where request bodies go if the folder of temporary files lies in memory. By the File System Hierarchy
// Standard it is kept over a restart of the machine, so it lies on a disk.
const otherDisk = "/var/tmp"

// diskReserve is how many bytes Spool leaves free of a file system.
const diskReserve = 64 << 20

// The errors of Spool.
var (
	ErrDiskFull = errors.New("the disk has no room for a request body")
	ErrNoDisk   = errors.New("the folder of temporary files lies in memory, and so does /var/tmp, or it cannot be written")
)

// SpoolToDisk is Spool; nil without an error if temporary files lie in memory.
func (s *Store) SpoolToDisk(size int64) (*os.File, error) {
	file, err := s.Spool(size)
	if errors.Is(err, ErrNoDisk) {
		return nil, nil
	}
	return file, err
}

// Spool makes a file for a request body of that size in bytes (0: unknown), which memory has no room for. The file has
// no name: its room is free once its descriptors and mappings are. The error is ErrDiskFull, ErrNoDisk, ErrClosed or
// one of the disk.
func (s *Store) Spool(size int64) (*os.File, error) {
	if !s.enter() {
		return nil, ErrClosed
	}
	defer s.fetches.Done()
	folder, remove, err := s.makeFolder("body")
	if err != nil {
		return nil, diskError(err)
	}
	defer remove() // only the file is used, by its descriptor
	onDisk, err := hasRoom(folder, size)
	if err != nil {
		return nil, err
	}
	var file *os.File
	if onDisk {
		file, err = os.CreateTemp(folder, "")
	} else {
		file, err = spoolElsewhere(otherDisk, size)
	}
	if err != nil {
		return nil, diskError(err)
	}
	// Takes the room at once, where the file system can.
	if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, max(size, 1)); err == unix.ENOSPC ||
		err == unix.EDQUOT {
		file.Close()
		return nil, ErrDiskFull
	}
	return file, nil
}

// hasRoom reports whether folder lies on a disk. The error is ErrDiskFull where that has no room for size bytes, or one
// of the disk.
func hasRoom(folder string, size int64) (onDisk bool, err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return false, diskError(fmt.Errorf("look at %s: %w", folder, err))
	}
	switch {
	case disk.Type == unix.TMPFS_MAGIC || disk.Type == unix.RAMFS_MAGIC:
		return false, nil
	case int64(disk.Bavail)*disk.Bsize < size+diskReserve:
		return true, ErrDiskFull
	}
	return true, nil
}

// spoolElsewhere makes a file without a name in folder. The error is ErrNoDisk if that cannot be.
func spoolElsewhere(folder string, size int64) (*os.File, error) {
	if onDisk, err := hasRoom(folder, size); errors.Is(err, ErrDiskFull) {
		return nil, err
	} else if err != nil || !onDisk {
		return nil, ErrNoDisk
	}
	// Not every file system has it; then bodies do not go there, since a file with a name could stay.
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, ErrNoDisk
	}
	return os.NewFile(uintptr(fd), "body"), nil
}
