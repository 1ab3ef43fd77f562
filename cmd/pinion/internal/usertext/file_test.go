package usertext

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

func TestRead_EachEncoding(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for content, want := range map[string]string{
		"": "", "é": "é", "\ufeffé": "é", "\xff\xfee\x00\xe9\x00": "eé", "\xfe\xff\x00e\x00\xe9": "eé", "\xff\xfe": "",
		"\xff\xfea": "", "\xff": "\xff",
	} {
		assert.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		got, err := ReadFile(name, 100)
		assert.True(t, err == nil && string(got) == want, "%q: got %q, %v, want %q", content, got, err, want)
	}
	err := os.WriteFile(name, []byte("\xff\xfea\x00"), 0o600)
	assert.True(t, err == nil && !IsUTF8(name), "UTF-16 is taken for UTF-8: %v", err)
}

func TestRead_LargerFilesAreErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	assert.NoError(t, os.WriteFile(name, make([]byte, 2<<20), 0o600))
	got, err := ReadFile(name, 2<<20)
	assert.True(t, err == nil && len(got) == 2<<20, "got %d bytes, %v, want all", len(got), err)
	link := filepath.Join(t.TempDir(), "link")
	assert.NoError(t, os.Symlink("nowhere", link))
	for file, want := range map[string]string{
		link: "is a link to nowhere, which does not exist",
		name: "larger than 1 MiB", "/dev/zero": "larger than 1 MiB",
		filepath.Dir(name): "is a directory",
	} {
		_, err := ReadFile(file, 1<<20)
		var at *fs.PathError
		assert.True(t, errors.As(err, &at) && Reason(err).Error() == want, "%s: got %v, want %s", file, err, want)
	}
	_, err = ReadFile(name+"x", 1)
	assert.ErrorIs(t, "the error", err, fs.ErrNotExist)
}

// TestReadFile_NamedPipe: one that a program writes to is read, and nothing waits for another one.
func TestReadFile_NamedPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	assert.NoError(t, syscall.Mkfifo(name, 0o600))
	if data, err := ReadFile(name, MaxText); !errors.Is(err, errNoWriter) {
		t.Errorf("without a writer: got %q, %v, want %v", data, err, errNoWriter)
	}
	assert.True(t, IsUTF8(name), "an empty pipe is not UTF-8, want it taken as empty")
	from, to, err := os.Pipe()
	assert.NoError(t, err)
	defer from.Close()
	go func() {
		_, _ = to.WriteString("predict: run.py")
		to.Close()
	}()
	data := assert.Must(ReadFile(fmt.Sprintf("/proc/self/fd/%d", from.Fd()), MaxText))(t)
	assert.Equal(t, "with a writer: text", string(data), "predict: run.py")
}
