package process

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pinion/pyembed/sdk"
)

// SDKFolder returns a folder that holds the cog package. It is kept from one run to the next, under the user's cache
// and named by its content, for the sake of the bytecode that Python leaves beside the sources: compiling them again
// takes longer than all else that a worker does to start. If there is no such folder, or it does not hold exactly the
// package, the run's own folder is used.
func SDKFolder(run *RunDir) (string, error) {
	if dir, err := CachedSDKFolder(); err == nil {
		return dir, nil
	}
	if err := run.Keep(); err != nil {
		return "", err
	}
	dir := run.SDK()
	if err := intact(dir); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("remove folder of the cog package: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make folder of the cog package: %w", err)
	}
	return dir, sdk.Write(dir)
}

// CachedSDKFolder finds or makes the kept folder.
func CachedSDKFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum, err := sdkSum()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "pinion")
	dir := filepath.Join(parent, "sdk-"+sum)
	if err := intact(dir); err == nil {
		return dir, nil
	}
	if err := makeCache(parent); err != nil {
		return "", err
	}
	// Written aside and moved into place, so that a half-written folder is never used; another
	// server that starts at the same moment may have been first.
	fresh, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := sdk.Write(fresh); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil && intact(dir) != nil {
		return "", err
	}
	return dir, intact(dir)
}

// makeCache makes the folder for what is kept. It makes no home: in a container $HOME often names a folder that is not
// there, and that another user of the container is to make.
func makeCache(parent string) error {
	if os.Getenv("XDG_CACHE_HOME") == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		if _, err := os.Stat(home); err != nil {
			return err
		}
	}
	return os.MkdirAll(parent, 0o700)
}

// intact checks that a folder is ours alone to write, and holds every file of the package as it is
// in this binary.
func intact(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByUs(info) || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	var have []byte
	return eachFile(func(name string, want []byte) error {
		file, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		defer file.Close()
		have = slices.Grow(have[:0], len(want)+1)[:len(want)+1]
		n, err := io.ReadFull(file, have)
		if err != io.ErrUnexpectedEOF && err != io.EOF || !bytes.Equal(have[:n], want) {
			return fmt.Errorf("%s was changed", name)
		}
		return nil
	})
}

// sdkSum names the content of the package, which never changes while the process runs. A checksum is enough, because
// intact compares every byte; each start waits for it.
var sdkSum = sync.OnceValues(func() (string, error) {
	h, size := crc32.New(crc32.MakeTable(crc32.Castagnoli)), 0
	err := eachFile(func(name string, data []byte) error {
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		_, err := h.Write(data)
		size += len(data)
		return err
	})
	return fmt.Sprintf("%08x%08x", h.Sum32(), size), err
})

// eachFile calls do with the files of the package. The data is valid during the call only: one buffer serves all files,
// because this is work of each start.
func eachFile(do func(name string, data []byte) error) error {
	var data []byte
	return fs.WalkDir(sdk.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := sdk.FS().Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data = slices.Grow(data[:0], int(info.Size()))[:info.Size()]
		if _, err := io.ReadFull(file, data); err != nil {
			return err
		}
		return do(name, data)
	})
}
