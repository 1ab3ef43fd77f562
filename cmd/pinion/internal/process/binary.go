package process

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Binary is the binary of this process. Workers are started from the running image, not from the file: an
// upgrade replaces it under a server that runs, and a worker of another version speaks another protocol.
type Binary struct {
	path string // of the file that this process was started from
}

// RunningBinary is the path by which a process can execute its own binary, even if the file is gone.
const RunningBinary = "/proc/self/exe"

func FindBinary() (Binary, error) {
	path, err := os.Executable()
	if err == nil {
		_, err = os.Stat(RunningBinary)
	}
	if err != nil {
		return Binary{}, fmt.Errorf("find own binary: %w", err)
	}
	return Binary{path}, nil
}

// Change says how the file has changed if it is no longer of this version, or returns "".
func (i Binary) Change(version string) string {
	was := "was replaced by another build"
	switch file, err := os.Stat(i.path); {
	case err != nil:
		was = "was removed"
	default:
		running, err := os.Stat(RunningBinary)
		if err != nil || os.SameFile(file, running) || sameBuild(i.path, RunningBinary) {
			return ""
		}
	}
	return fmt.Sprintf("the binary %s %s: workers are of this server's version, %s, until the server is started again",
		i.path, was, version)
}

// sameBuild reports whether two binaries are of one build.
func sameBuild(a, b string) bool {
	build, err := buildID(a)
	if err != nil {
		return false
	}
	other, err := buildID(b)
	return err == nil && bytes.Equal(build, other)
}

// buildID returns the note in which Go's linker says what a binary was made of.
func buildID(path string) ([]byte, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	note := file.Section(".note.go.buildid")
	if note == nil {
		return nil, fmt.Errorf("%s has no build ID", path)
	}
	return note.Data()
}

// CopyBinary copies the running binary into a folder, and its companion if that is installed.
func CopyBinary(dir string) error {
	image, err := FindBinary()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("copy own binary: %w", err)
	}
	if err := copyFile(filepath.Join(dir, "pinion"), RunningBinary); err != nil {
		return fmt.Errorf("copy own binary %s: %w", image.path, err)
	}
	path, err := Companion(NATS)
	if err != nil {
		return nil //nolint:nilerr // what needs it says so
	}
	if err := copyFile(filepath.Join(dir, NATS), path); err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	return nil
}

// copyFile copies a program with its time: builders take another time for another file.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
