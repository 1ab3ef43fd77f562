package files

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folderPrefix begins the names of the stores' folders.
const folderPrefix = "pinion-files-"

// lockName is a file that the owner of a folder locks. The kernel releases the lock when the process ends in any way,
// so a folder whose lock is free has no owner.
const lockName = ".lock"

// folder is a store's folder.
type folder struct {
	path string
	lock *os.File
}

func makeFolder(root string) (*folder, error) {
	path, err := os.MkdirTemp(root, folderPrefix)
	if err != nil {
		return nil, err
	}
	// The file is locked before it gets its name: without a lock file, other processes ignore the folder.
	draft := filepath.Join(path, lockName+"-draft")
	lock, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		if err = flock(lock); err == nil {
			err = os.Rename(draft, filepath.Join(path, lockName))
		}
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path, lock}, nil
}

func (f *folder) remove() error {
	return errors.Join(removeAll(f.path), f.lock.Close())
}

// current returns the store's folder.
func (s *Store) current() *folder {
	s.folderMu.Lock()
	defer s.folderMu.Unlock()
	return s.folder
}

// remake makes the store's folder again, unless another call has already replaced the missing one.
func (s *Store) remake(missing *folder) (*folder, error) {
	s.folderMu.Lock()
	defer s.folderMu.Unlock()
	if s.folder != missing {
		return s.folder, nil
	}
	root, err := filepath.Dir(missing.path), error(nil)
	if s.options.Remake != nil {
		root, err = s.options.Remake()
	}
	if err == nil {
		err = os.MkdirAll(root, 0o700)
	}
	if err != nil {
		return nil, err
	}
	made, err := makeFolder(root)
	if err != nil {
		return nil, err
	}
	s.options.Logger.Warn("the folder of temporary files was removed: making it again", "was", missing.path,
		"now", made.path)
	_ = missing.lock.Close() // its file is already removed
	s.folder = made
	return made, nil
}

// exists reports whether a path exists, or may exist.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// removeStale removes the folders in root whose owners have exited. Errors are only logged.
func removeStale(root string, logger *slog.Logger) {
	entries, err := os.ReadDir(root)
	if err != nil {
		logger.Warn("cannot look for old files", "error", err)
		return
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), folderPrefix) {
			path := filepath.Join(root, entry.Name())
			if err := removeIfStale(path); err != nil {
				logger.Warn("cannot remove old files", "path", path, "error", err)
			}
		}
	}
}

func removeIfStale(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return ignoreMissing(err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
		return nil // another user's folder
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return ignoreMissing(err)
	}
	if err := flock(lock); err != nil {
		return lock.Close() // the folder is in use
	}
	return errors.Join(removeAll(path), lock.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeAll is os.RemoveAll for a folder in which a model may have removed write permissions.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	// The second RemoveAll reports the errors that the walk ignores.
	_ = filepath.WalkDir(path, func(at string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(at, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
