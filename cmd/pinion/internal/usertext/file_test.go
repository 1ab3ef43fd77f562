package usertext

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
		t.Errorf("UTF-16 is taken for UTF-8: %v", err)
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
	for file, want := range map[string]string{
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
