package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// A component is a module, or a tool, of which a part is in the binary.
type component struct {
	name, version string
	sum           string // of a module, as in go.sum
	dir           string
	texts         []string // paths of its licences and notices
	licences      []string // their SPDX identifiers, sorted
}

// allowedLicences are those of modules that ask for no more than their text, which NOTICES.txt has.
var allowedLicences = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT",
	"Unlicense",
}

// legal are the names of files that a licence asks to be passed on.
var legal = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|copyright|notice|patents)([-_.].*)?$`)

// listed is what `go list` says of a package.
type listed struct {
	Dir    string
	Module *struct {
		Path, Version, Dir, Sum string
		Main                    bool
		Replace                 *struct{ Path, Version, Dir string }
	}
}

// modules are those that the command and its companion link for an architecture, with the licences that lie beside the
// linked packages and in the folders above them.
func modules(arch string) ([]component, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/pinion", "./cmd/pinion-nats")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list linked packages: %w", err)
	}
	found := map[string]*component{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read linked packages: %w", err)
		}
		if p.Module == nil || p.Module.Main {
			continue // the standard library, and our own
		}
		notice := found[p.Module.Path]
		if notice == nil {
			notice = &component{name: p.Module.Path, version: p.Module.Version, sum: p.Module.Sum, dir: p.Module.Dir}
			if r := p.Module.Replace; r != nil {
				notice.version, notice.dir = r.Version, r.Dir
			}
			found[p.Module.Path] = notice
			if err := notice.addTexts(filepath.Join(notice.dir, "licenses")); err != nil {
				return nil, err
			}
		}
		for dir := p.Dir; strings.HasPrefix(dir, notice.dir); dir = filepath.Dir(dir) {
			if err := notice.addTexts(dir); err != nil {
				return nil, err
			}
		}
	}
	var components []component
	for _, name := range sortedKeys(found) {
		if err := found[name].identify(); err != nil {
			return nil, err
		}
		components = append(components, *found[name])
	}
	return components, nil
}

// addTexts adds the licences in a folder, if there is one.
func (c *component) addTexts(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for licences: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.Type().IsRegular() && legal.MatchString(entry.Name()) && !slices.Contains(c.texts, path) {
			c.texts = append(c.texts, path)
		}
	}
	slices.Sort(c.texts)
	return nil
}

// identify finds out which licences the texts are, and refuses those that are not allowed.
func (c *component) identify() error {
	for _, path := range c.texts {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range licensecheck.Scan(text).Match {
			if id := spdx(match.ID); !slices.Contains(c.licences, id) {
				c.licences = append(c.licences, id)
			}
		}
	}
	slices.Sort(c.licences)
	if len(c.licences) == 0 {
		return fmt.Errorf("%s has an unknown licence; its folder is %s", c.name, c.dir)
	}
	for _, id := range c.licences {
		if !slices.Contains(allowedLicences, id) {
			return fmt.Errorf("%s has the licence %s, which is not in allowedLicences (%s)", c.name, id, c.texts)
		}
	}
	return nil
}

// spdx turns the identifiers of licensecheck that SPDX does not have into those that it has.
func spdx(id string) string {
	switch id {
	case "Apache-2.0-User", "Apache-2.0-Header":
		return "Apache-2.0"
	case "GooglePatentClause", "GooglePatentsFile":
		return "BSD-3-Clause" // grants more than the licence beside it
	}
	return id
}

// toolchain are Go, whose standard library is in the binary, and zig, which adds the start-up code of the C library and
// functions of the compiler.
func toolchain(zig, glibc string) ([]component, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go's folder: %w", err)
	}
	golang := component{
		name: "std", version: strings.TrimPrefix(runtime.Version(), "go"),
		dir: strings.TrimSpace(string(goroot)),
	}
	if err := golang.addTexts(golang.dir); err != nil {
		return nil, err
	}
	if err := golang.identify(); err != nil {
		return nil, err
	}
	info, err := filepath.Glob(zig + "-*.dist-info")
	if err != nil || len(info) != 1 {
		return nil, fmt.Errorf("%s is not the folder of the Python package ziglang: %d folders beside it have its version",
			zig, len(info))
	}
	version := strings.TrimSuffix(strings.TrimPrefix(info[0], zig+"-"), ".dist-info")
	compiler := component{
		name: "zig", version: version, dir: zig, licences: []string{"MIT"},
		texts: []string{filepath.Join(zig, "LICENSE")},
	}
	libc := component{
		name: "glibc", version: glibc, dir: zig,
		licences: []string{"LGPL-2.1-or-later"}, texts: []string{filepath.Join(zig, "lib/libc/glibc/LICENSES")},
	}
	return []component{golang, compiler, libc}, nil
}

// writeNotices writes the texts of all components, each text once.
func writeNotices(components []component) ([]byte, error) {
	slices.SortStableFunc(components, func(a, b component) int { return cmp.Compare(a.name, b.name) })
	var out bytes.Buffer
	out.WriteString("Pinion contains parts of the following software. Pinion's own licence is in the file LICENSE.\n")
	seen := map[string]bool{}
	for _, c := range components {
		for _, path := range c.texts {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read licence: %w", err)
			}
			name, err := filepath.Rel(c.dir, path)
			if err != nil {
				return nil, err
			}
			heading := strings.TrimSpace(c.name+" "+c.version) + ", " + name
			if seen[heading] {
				continue
			}
			seen[heading] = true
			fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), heading, bytes.TrimSpace(text))
		}
	}
	return out.Bytes(), nil
}
