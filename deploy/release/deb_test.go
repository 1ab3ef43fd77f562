package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestRelease_ManPagesAreInTarballAndDebianPackage checks what `pinion man` writes, and that both contain all of it.
func TestRelease_ManPagesAreInTarballAndDebianPackage(t *testing.T) {
	t.Chdir("../..")
	const program = "bin/pinion"
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s, which writes the pages, is not built", program)
	}
	version := assert.Must(parseVersion("1.2.3", "abc"))(t)
	o := options{
		version: version, glibc: "2.28", time: time.Unix(1e9, 0), binaries: map[string]string{runtime.GOARCH: program},
	}
	files := assert.Must(contents(o, slices.Clone(sample[:5])))(t)
	var pages []string
	for _, f := range files {
		if page, ok := strings.CutPrefix(f.name, "man/"); ok {
			pages = append(pages, page)
			assert.True(t, bytes.Contains(f.content, []byte("\n.SH ")),
				"%s has no section, want it to contain %q:\n%.200s", f.name, "\n.SH ", f.content)
		}
	}
	for _, page := range []string{"pinion.1", "pinion-serve.1", "pinion-predict.1"} {
		assert.True(t, slices.Contains(pages, page), "got pages %q, want %s too", pages, page)
	}
	packed := tarballNames(t, files)
	installed := debNames(t, o, files)
	for _, page := range pages {
		name := "folder/man/" + page
		assert.True(t, slices.Contains(packed, name), "the tarball has no %s: %q, want it there", name, packed)
		if name := "./usr/share/man/man1/" + page; installed != nil && !slices.Contains(installed, name) {
			t.Errorf("the Debian package has no %s: %q, want nil or with %q", name, installed, name)
		}
	}
}

func tarballNames(t *testing.T, files []file) []string {
	t.Helper()
	var packed bytes.Buffer
	assert.NoError(t, writeTarball(&packed, "folder", files, time.Unix(1e9, 0)))
	unpacked := assert.Must(gzip.NewReader(&packed))(t)
	return names(tar.NewReader(unpacked))
}

// debNames are the files of the Debian package, or nil in the short run, which leaves out to compile nfpm.
func debNames(t *testing.T, o options, files []file) []string {
	t.Helper()
	if !harness.IsFull() {
		return nil
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Log("the Debian package is not checked: there is no dpkg-deb")
		return nil
	}
	path := filepath.Join(t.TempDir(), "pinion.deb")
	assert.NoError(t, writeDeb(o, runtime.GOARCH, path, files))
	archive, err := exec.Command("dpkg-deb", "--fsys-tarfile", path).Output()
	assert.NoError(t, err, "read the package")
	return names(tar.NewReader(bytes.NewReader(archive)))
}

func names(archive *tar.Reader) (list []string) {
	for header, err := archive.Next(); err == nil; header, err = archive.Next() {
		list = append(list, header.Name)
	}
	return list
}
