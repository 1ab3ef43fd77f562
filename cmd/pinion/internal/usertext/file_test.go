package usertext

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRead_EachEncoding(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for content, want := range map[string]string{
		"": "", "é": "é", "\ufeffé": "é", "\xff\xfee\x00\xe9\x00": "eé", "\xfe\xff\x00e\x00\xe9": "eé", "\xff\xfe": "",
		"\xff\xfea": "", "\xff": "\xff",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(name, 100); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", content, got, err, want)
		}
	}
	if err := os.WriteFile(name, []byte("\xff\xfea\x00"), 0o600); err != nil || IsUTF8(name) {
		t.Errorf("UTF-16 is taken for UTF-8: %v: IsUTF8(name) = true, want false", err)
	}
}

func TestRead_LargerFilesAreErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(name, 2<<20); err != nil || len(got) != 2<<20 {
		t.Errorf("got %d bytes, %v, want all", len(got), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		link: "is a link to nowhere, which does not exist",
		name: "larger than 1 MiB", "/dev/zero": "larger than 1 MiB",
		filepath.Dir(name): "is a directory",
	} {
		_, err := ReadFile(file, 1<<20)
		var at *fs.PathError
		if !errors.As(err, &at) || Reason(err).Error() != want {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	if _, err := ReadFile(name+"x", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
}

// TestReadFile_NamedPipe: one that a program writes to is read, and nothing waits for another one.
func TestReadFile_NamedPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(name, MaxText); !errors.Is(err, errNoWriter) {
		t.Errorf("without a writer: got %q, %v, want %v", data, err, errNoWriter)
	}
	if !IsUTF8(name) {
		t.Error("an empty pipe is not UTF-8, want it taken as empty")
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	go func() {
		_, _ = to.WriteString("predict: run.py")
		to.Close()
	}()
	data, err := ReadFile(fmt.Sprintf("/proc/self/fd/%d", from.Fd()), MaxText)
	if err != nil || string(data) != "predict: run.py" {
		t.Errorf("with a writer: got %q, %v, want its text", data, err)
	}
}
