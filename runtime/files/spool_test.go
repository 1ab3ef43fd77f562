package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestSpool_HasNoName makes files that have no name, and refuses one that the disk has no room for.
func TestSpool_HasNoName(t *testing.T) {
	s, folder := inboxStore(t, Options{})
	file, err := s.Spool(1 << 20)
	if errors.Is(err, ErrNoDisk) {
		t.Skip("the folder of temporary files lies in memory")
	}
	assert.NoError(t, err)
	names := left(t, folder)
	assert.True(t, len(names) == 0, "the folder has %v", names)
	_, err = file.WriteString("body")
	assert.NoError(t, err)
	_, err = file.Seek(0, io.SeekStart)
	assert.NoError(t, err)
	if text, err := io.ReadAll(file); err != nil || string(text) != "body" {
		t.Errorf("it has %q, %v, want body", text, err)
	}
	file.Close()
	if _, err := s.Spool(1 << 60); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a body of an EiB: %v, want ErrDiskFull", err)
	}
	assert.NoError(t, os.RemoveAll(folder))
	if file, err = s.Spool(0); err != nil {
		t.Errorf("after the folder was removed: got %v, want no error", err)
	} else {
		file.Close()
	}
	assert.ErrorIs(t, "s.Close", s.Close(), nil)
	_, err = s.Spool(0)
	assert.ErrorIs(t, "of a closed store", err, ErrClosed)
}

// TestSpool_Elsewhere: where the folder of temporary files lies in memory, bodies go to /var/tmp, without a name.
func TestSpool_Elsewhere(t *testing.T) {
	inMemory, err := os.MkdirTemp("/dev/shm", "pinion-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(inMemory)
	if onDisk, err := hasRoom(inMemory, 0); onDisk || err != nil {
		t.Skipf("/dev/shm does not lie in memory: %v", err)
	}
	s := assert.Must(New(Options{Root: inMemory}))(t)
	defer s.Close()
	file, err := s.Spool(1 << 20)
	if errors.Is(err, ErrNoDisk) {
		t.Skip(err)
	}
	assert.NoError(t, err)
	defer file.Close()
	if target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err != nil ||
		!strings.HasPrefix(target, otherDisk+"/") || !strings.HasSuffix(target, " (deleted)") {
		t.Errorf(`the body is in %s, %v, want it starting with %q and ending in " (deleted)"`, target, err, otherDisk+"/")
	}
	_, err = s.Spool(1 << 60)
	assert.ErrorIs(t, "a body of an EiB", err, ErrDiskFull)
	_, err = spoolElsewhere(inMemory, 0)
	assert.ErrorIs(t, "with both in memory", err, ErrNoDisk)
}
