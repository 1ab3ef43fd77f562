package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// published makes a release of two scripts in a folder, in a checkout's root, and serves it.
func published(t *testing.T) (o options, url string) {
	t.Helper()
	t.Chdir("../..")
	dir := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	version := assert.Must(parseVersion("1.2.3", "0123456789ab"))(t)
	o = options{out: dir, version: version, url: server.URL, binaries: map[string]string{"amd64": "", "arm64": ""}}
	for arch := range o.binaries {
		var packed bytes.Buffer
		files := []file{
			{"pinion", []byte("#!/bin/sh\necho pinion 1.2.3\n"), 0o755},
			{natsProgram, []byte("#!/bin/sh\n"), 0o755},
		}
		assert.NoError(t, writeTarball(&packed, stem(o, arch), files, time.Unix(1e9, 0)))
		assert.NoError(t, os.WriteFile(filepath.Join(dir, tarballName(o, arch)), packed.Bytes(), 0o644))
	}
	assert.NoError(t, writeInstallers(o))
	assert.NoError(t, writeSums(dir))
	return o, server.URL
}

// install runs install.sh of a release with these variables.
func install(o options, variables ...string) (string, error) {
	cmd := exec.Command("sh", filepath.Join(o.out, "install.sh"))
	cmd.Env = append(os.Environ(), variables...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestInstallScript_InstallsBothPrograms(t *testing.T) {
	o, _ := published(t)
	folder := filepath.Join(t.TempDir(), "new", "bin")
	for range 2 { // the second time over the first
		out, err := install(o, "PINION_INSTALL_DIR="+folder)
		if err != nil || !strings.Contains(out, "installed pinion 1.2.3 in "+folder) ||
			!strings.Contains(out, "add it to the PATH") {
			t.Fatalf("got %v, want success:\n%s", err, out)
		}
	}
	for _, name := range []string{"pinion", natsProgram} {
		err := exec.Command(filepath.Join(folder, name)).Run()
		assert.True(t, err == nil, "run %s: got %v, want no error", name, err)
	}
	left, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(left) == 2, "got %v in the folder, want two programs: %v", left, err)
}

func TestInstallScript_RefusesAnotherChecksum(t *testing.T) {
	o, url := published(t)
	folder := t.TempDir()
	tarball := filepath.Join(o.out, tarballName(o, runtime.GOARCH))
	content := assert.Must(os.ReadFile(tarball))(t)
	content[len(content)-1] ^= 1
	assert.NoError(t, os.WriteFile(tarball, content, 0o644))
	for _, c := range []struct{ variable, want string }{
		{"PINION_INSTALL_URL=" + url, "has another checksum than SHA256SUMS says: nothing is installed"},
		{"PINION_INSTALL_URL=" + url + "/absent", "cannot fetch " + url + "/absent/"},
	} {
		out, err := install(o, "PINION_INSTALL_DIR="+folder, c.variable)
		assert.True(t, err != nil && strings.Contains(out, c.want), "with %s: got %v, want %q:\n%s", c.variable, err, c.want, out)
	}
	left, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(left) == 0, "got %v in the folder, want nothing: %v", left, err)
}

func TestFormula_NamesTheFilesOfTheRelease(t *testing.T) {
	o, url := published(t)
	formula := assert.Must(os.ReadFile(filepath.Join(o.out, "pinion.rb")))(t)
	for arch := range o.binaries {
		content := assert.Must(os.ReadFile(filepath.Join(o.out, tarballName(o, arch))))(t)
		for _, want := range []string{
			fmt.Sprintf("url %q", url+"/"+tarballName(o, arch)), fmt.Sprintf("sha256 \"%x\"", sha256.Sum256(content)),
		} {
			assert.True(t, bytes.Contains(formula, []byte(want)),
				"the formula lacks %s, want it to contain %q:\n%s", want, []byte(want), formula)
		}
	}
	assert.False(t, bytes.Contains(formula, []byte("@")),
		"the formula has a place that is not filled, want no \"@\" in it:\n%s", formula)
}
