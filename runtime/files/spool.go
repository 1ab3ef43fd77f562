package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// diskReserve is how many bytes Spool leaves free of a file system.
const diskReserve = 64 << 20

// The errors of Spool.
var (
	ErrDiskFull = errors.New("the disk has no room for a request body")
	ErrNoDisk   = errors.New("the folder of temporary files lies in memory")
)

// Spool makes a file for a request body of that size in bytes (0: unknown), which memory has no room for. The file has no name:
// its room is free once its descriptors and mappings are. The error is ErrDiskFull, ErrNoDisk, ErrClosed or one of the disk.
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
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return nil, diskError(fmt.Errorf("look at %s: %w", folder, err))
	}
	switch {
	case disk.Type == unix.TMPFS_MAGIC || disk.Type == unix.RAMFS_MAGIC:
		return nil, ErrNoDisk
	case int64(disk.Bavail)*disk.Bsize < size+diskReserve:
		return nil, ErrDiskFull
	}
	file, err := os.CreateTemp(folder, "")
	if err != nil {
		return nil, diskError(err)
	}
	// Takes the room at once, where the file system can.
	if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, max(size, 1)); err == unix.ENOSPC || err == unix.EDQUOT {
		file.Close()
		return nil, ErrDiskFull
	}
	return file, nil
}
