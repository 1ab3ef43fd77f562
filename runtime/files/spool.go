package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// otherDisk is where request bodies go if the folder of temporary files is in memory. By the Filesystem Hierarchy
// Standard it is preserved between reboots, so it is on a disk.
const otherDisk = "/var/tmp"

// diskReserve is how many bytes stay free of a file system; of a smaller one, half of it.
const diskReserve = 64 << 20

var (
	// ErrDiskFull means that what clients send does not fit on the disk, of which 64 MiB stay free.
	ErrDiskFull = errors.New("the disk of temporary files has no room, since 64 MiB of it stay free")
	// ErrNoDisk is an error of Spool.
	ErrNoDisk = errors.New("the folder of temporary files lies in memory, and so does /var/tmp, or it cannot be written")
)

// SpoolToDisk is Spool, but returns nil without an error if temporary files are in memory.
func (s *Store) SpoolToDisk(size int64) (*os.File, error) {
	file, err := s.Spool(size)
	if errors.Is(err, ErrNoDisk) {
		return nil, nil
	}
	return file, err
}

// Spool makes a file for a request body for which memory has no room. size is its size in bytes; 0 means unknown. The
// file has no name, so its space is freed with its descriptors and mappings. The error is ErrDiskFull, ErrNoDisk,
// ErrClosed or one of the disk.
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
	// This allocates the space at once, if the file system can.
	if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, max(size, 1)); err == unix.ENOSPC ||
		err == unix.EDQUOT {
		file.Close()
		return nil, ErrDiskFull
	}
	return file, nil
}

// hasRoom reports whether folder is on a disk. The error is ErrDiskFull if that has no room for size bytes, or one of
// the disk.
func hasRoom(folder string, size int64) (onDisk bool, err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return false, diskError(fmt.Errorf("look at %s: %w", folder, err))
	}
	switch {
	case disk.Type == unix.TMPFS_MAGIC || disk.Type == unix.RAMFS_MAGIC:
		return false, nil
	case freeOf(&disk) < size:
		return true, ErrDiskFull
	}
	return true, nil
}

// freeOf returns how many bytes of a file system what clients send may take.
func freeOf(disk *unix.Statfs_t) int64 {
	return int64(disk.Bavail)*disk.Bsize - min(diskReserve, int64(disk.Blocks)*disk.Bsize/2)
}

// Disk writes what clients send to a file. The error is ErrDiskFull, or one of the disk without the file's path.
type Disk struct{ File *os.File }

// Write looks at the disk each time: others write to it, too.
func (d Disk) Write(b []byte) (int, error) {
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(d.File.Fd()), &disk); err == nil && freeOf(&disk) < int64(len(b)) {
		return 0, ErrDiskFull
	}
	n, err := d.File.Write(b)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = ErrDiskFull
	}
	return n, diskError(err)
}

// spoolElsewhere makes a file without a name in folder. The error is ErrNoDisk if that is not possible.
func spoolElsewhere(folder string, size int64) (*os.File, error) {
	if onDisk, err := hasRoom(folder, size); errors.Is(err, ErrDiskFull) {
		return nil, err
	} else if err != nil || !onDisk {
		return nil, ErrNoDisk
	}
	// Not every file system supports this. Bodies do not go to others, because a file with a name could be left behind.
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, ErrNoDisk
	}
	return os.NewFile(uintptr(fd), "body"), nil
}
