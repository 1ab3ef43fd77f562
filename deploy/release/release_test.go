package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestRelease_VersionsOfEachKindOfCommit(t *testing.T) {
	for _, c := range []struct{ text, pep440, debian string }{
		{"1.2.0", "1.2.0", "1.2.0"},
		{"1.2.0-rc.1", "1.2.0rc1", "1.2.0~rc.1"},
		{"1.2.0-beta", "1.2.0b0", "1.2.0~beta"},
		{"1.2.0-4-gabc123", "1.2.0.post4+gabc123", "1.2.0+4.gabc123"},
		{"1.2.0-rc.1-4-gabc123", "1.2.0rc1.post4+gabc123", "1.2.0~rc.1+4.gabc123"},
		{"0.1.0-dev", "0.1.0.dev0+g0123456789ab", "0.1.0~dev.g0123456789ab"},
	} {
		v, err := parseVersion(c.text, "0123456789ab")
		assert.True(t, err == nil && v.pep440() == c.pep440 && v.debian() == c.debian && v.String() == c.text,
			"%s: %s, %s, %v; want %s, %s", c.text, v.pep440(), v.debian(), err, c.pep440, c.debian)
	}
	for _, text := range []string{"", "1.2", "v1.2.3", "1.2.3-foo", "1.2.3-4-xabc", "1.2.3 -X main.date=x"} {
		v, err := parseVersion(text, "0")
		assert.True(t, err != nil, "%q is read as %+v", text, v)
	}
}

// TestRelease_DebianSortsVersions as dpkg does: candidates before the release, later commits after it.
func TestRelease_DebianSortsVersions(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("there is no dpkg")
	}
	var last string
	for _, text := range []string{
		"1.2.0-dev", "1.2.0-rc.1", "1.2.0-rc.1-4-gabc", "1.2.0-rc.2", "1.2.0", "1.2.0-4-gabc", "1.2.1",
	} {
		v := assert.Must(parseVersion(text, "0123456789ab"))(t)
		assert.False(t, last != "" && exec.Command("dpkg", "--compare-versions", last, "lt", v.debian()).Run() != nil,
			"dpkg does not sort %s before %s", last, v.debian())
		last = v.debian()
	}
}

var sample = []file{
	{"pinion", []byte("binary"), 0o755},
	{natsProgram, []byte("companion"), 0o755},
	{"LICENSE", []byte("licence"), 0o644},
	{"NOTICES.txt", []byte("notices"), 0o644},
	{"pinion.cdx.json", []byte("{}"), 0o644},
	{"CHANGELOG.md", []byte("new"), 0o644},
}

func TestRelease_Wheel(t *testing.T) {
	var packed bytes.Buffer
	assert.NoError(t, writeWheel(&packed, "1.2.0", wheelTag("2.28", "arm64"), sample, time.Unix(1e9, 0).UTC()))
	archive := assert.Must(zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len())))(t)
	content, modes := map[string]string{}, map[string]os.FileMode{}
	for _, f := range archive.File {
		r := assert.Must(f.Open())(t)
		text := assert.Must(io.ReadAll(r))(t)
		content[f.Name], modes[f.Name] = string(text), f.Mode()
	}
	const info = "pinion_server-1.2.0.dist-info/"
	const scripts = "pinion_server-1.2.0.data/scripts/"
	for _, name := range []string{"pinion", natsProgram} {
		assert.Equal(t, "the command "+name+" has mode", modes[scripts+name], 0o755)
	}
	for name := range content {
		stub := strings.HasPrefix(name, "cog-stubs/") && filepath.Ext(name) == ".pyi" // no module, so nothing can import it
		assert.False(t, !stub && !strings.HasPrefix(name, info) && name != scripts+"pinion" && name != scripts+natsProgram,
			"the wheel installs %s, want its own files and the stubs alone", name)
	}
	for name, want := range map[string]string{
		"METADATA": "Name: pinion-server\nVersion: 1.2.0\n",
		"WHEEL":    "Root-Is-Purelib: false\nTag: py3-none-manylinux_2_28_aarch64\n",
	} {
		assert.Contains(t, name, content[info+name], want)
	}
	rows, err := csv.NewReader(strings.NewReader(content[info+"RECORD"])).ReadAll()
	assert.TrueNow(t, err == nil && len(rows) == len(content),
		"RECORD has %d rows for %d files: %v, want %d", len(rows), len(content), err, len(content))
	for _, row := range rows {
		if row[0] == info+"RECORD" {
			continue
		}
		sum := sha256.Sum256([]byte(content[row[0]]))
		want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:])
		assert.Equal(t, "second cell", row[1], want)
		assert.Equal(t, "third cell", row[2], fmt.Sprint(len(content[row[0]])))
	}
	assert.Equal(t, "name of the wheel", wheelName("1.2.0", "tag"), "pinion_server-1.2.0-py3-none-tag.whl")
}

// TestRelease_TarballsAreSameInAnyOrder, and carry neither a user nor the time of packing.
func TestRelease_TarballsAreSameInAnyOrder(t *testing.T) {
	var packed [2]bytes.Buffer
	backwards := slices.Clone(sample)
	slices.Reverse(backwards)
	for i, files := range [][]file{sample, backwards} {
		assert.NoError(t, writeTarball(&packed[i], "folder", files, time.Unix(1e9, 0)))
	}
	assert.True(t, bytes.Equal(packed[0].Bytes(), packed[1].Bytes()),
		"the order of the files changes the tarball: got %q, want %q", packed[0].Bytes(), packed[1].Bytes())
	unpacked := assert.Must(gzip.NewReader(&packed[0]))(t)
	archive, count := tar.NewReader(unpacked), 0
	for header, err := archive.Next(); err == nil; header, err = archive.Next() {
		count++
		if header.Uid != 0 || header.Uname != "" || header.ModTime.Unix() != 1e9 ||
			!strings.HasPrefix(header.Name, "folder/") {
			t.Errorf(`%+v, want Uid 0, Uname empty, Unix 1e9 and Name starting with "folder/"`, header)
		}
	}
	assert.Equal(t, "count", count, len(sample))
}

// TestRelease_EveryLinkedModuleHasAllowedLicence whose text is in the notices, and stands in the SBOM.
func TestRelease_EveryLinkedModuleHasAllowedLicence(t *testing.T) {
	t.Chdir("../..")
	version := assert.Must(parseVersion("1.2.0", "abc"))(t)
	for arch := range architectures {
		linked := assert.Must(modules(arch))(t)
		notices := assert.Must(writeNotices(slices.Clone(linked)))(t)
		o := options{version: version, commit: "abc", glibc: "2.28", time: time.Unix(1e9, 0).UTC()}
		text, err := writeSBOM(o, arch, map[string][]byte{"pinion": []byte("binary"), natsProgram: []byte("companion")},
			linked)
		assert.NoError(t, err)
		var bom struct {
			Components []struct {
				Name     string
				Licenses []struct{ License struct{ ID string } }
			}
			Metadata struct{ Timestamp string }
		}
		if err := json.Unmarshal(text, &bom); err != nil || bom.Metadata.Timestamp != "2001-09-09T01:46:40Z" {
			t.Errorf("the SBOM of %s: %v: got %q, want \"2001-09-09T01:46:40Z\"\n%s", arch, err, bom.Metadata.Timestamp, text)
		}
		var names []string
		for _, c := range bom.Components {
			names = append(names, c.Name)
			assert.True(t, len(c.Licenses) != 0 && c.Licenses[0].License.ID != "",
				"the SBOM of %s has no licence of %s, want its SPDX identifier", arch, c.Name)
		}
		for _, c := range linked {
			own, err := os.ReadFile(c.texts[0])
			if err != nil || !bytes.Contains(notices, bytes.TrimSpace(own)) {
				t.Errorf("the notices lack %s of %s: %v: got %.300q, want it to contain %q", c.texts[0], c.name, err, notices,
					bytes.TrimSpace(own))
			}
			assert.True(t, slices.Contains(names, c.name), "the SBOM of %s lacks %s, want it there", arch, c.name)
		}
		for _, want := range []string{"github.com/valyala/fasthttp", "github.com/go-python/cpy3", "golang.org/x/sys"} {
			assert.True(t, slices.Contains(names, want), "%s is not among what %s links: %s, want it there", want, arch, names)
		}
	}
}

func TestRelease_LicenceThatIsNotAllowedIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "an unknown licence",
		"SPDX-License-Identifier: GPL-3.0-only\n\nThis program is free software: you can redistribute it and/or modify " +
			"it under the terms of the GNU General Public License as published by the Free Software Foundation, either " +
			"version 3 of the License, or (at your option) any later version.\n": "not in allowedLicences",
	} {
		c := component{name: "example.com/module", dir: t.TempDir()}
		assert.NoError(t, os.WriteFile(filepath.Join(c.dir, "COPYING"), []byte(text), 0o600))
		err := c.addTexts(c.dir)
		if err == nil {
			err = c.identify()
		}
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%q: %v, want %s", text, err, want)
	}
}

func TestRelease_ProgramThatNeedsNewerGlibcIsRefused(t *testing.T) {
	const program = "/bin/sh"
	if err := checkGlibc(program, "99.0"); err != nil {
		t.Skipf("%s: %v", program, err)
	}
	if err := checkGlibc(program, "2.1"); err == nil || !strings.Contains(err.Error(), "newer than 2.1") {
		t.Errorf(`%s passes for glibc 2.1: %v, want an error and err with "newer than 2.1"`, program, err)
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.28", "2.28", false},
		{"2.2.5", "2.28", false},
		{"2.34", "2.28", true},
		{"2.28.1", "2.28", true},
		{"PRIVATE", "9", true},
	} {
		assert.Equal(t, fmt.Sprintf("newer(%s, %s)", c.a, c.b), newer(c.a, c.b), c.want)
	}
}

// TestRelease_NamesFilesThatAreNotCommitted: ./build.sh release refuses them, but not the folder that the tutorial
// makes.
func TestRelease_NamesFilesThatAreNotCommitted(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("git", "clone", "--quiet", "--shared", "../..", clone).CombinedOutput(); err != nil {
		t.Skipf("this is not a checkout of git: %v\n%s", err, out)
	}
	for _, name := range []string{"stray.txt", "greeter/run.py"} {
		path := filepath.Join(clone, name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	out, err := exec.Command(filepath.Join(clone, "build.sh"), "release").CombinedOutput()
	assert.True(t, err != nil && bytes.Contains(out, []byte("these are not committed:\n?? stray.txt\n")),
		"got %v, want a message that names stray.txt:\n%s", err, out)
}
