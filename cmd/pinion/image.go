package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
)

// image is the binary of this process. Workers are started from the running image, not from the file: an
// upgrade replaces it under a server that runs, and a worker of another version speaks another protocol.
type image struct {
	path string // of the file that this process was started from
}

// runningImage is what the kernel lets every process execute itself by. The file may be gone.
const runningImage = "/proc/self/exe"

// ownImage finds the image of this process.
func ownImage() (image, error) {
	path, err := os.Executable()
	if err == nil {
		_, err = os.Stat(runningImage)
	}
	if err != nil {
		return image{}, fmt.Errorf("find own binary: %w", err)
	}
	return image{path}, nil
}

// change says what became of the file, where it is of this version no more, or "".
func (i image) change() string {
	was := "was replaced by another build"
	switch file, err := os.Stat(i.path); {
	case err != nil:
		was = "is gone"
	default:
		running, err := os.Stat(runningImage)
		if err != nil || os.SameFile(file, running) || sameBuild(i.path, runningImage) {
			return ""
		}
	}
	return fmt.Sprintf("the binary %s %s: workers are of this server's version, %s, until the server is started again", i.path, was, version)
}

// sameBuild tells whether two binaries are of one build.
func sameBuild(a, b string) bool {
	one, err := buildID(a)
	if err != nil {
		return false
	}
	other, err := buildID(b)
	return err == nil && bytes.Equal(one, other)
}

// buildID is the note in which Go's linker says what a binary was made of.
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
