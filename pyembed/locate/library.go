package locate

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
)

func (f *finder) library(in *interpreter) (string, error) {
	if path, ok := f.needed(in); ok {
		return path, nil
	}
	if in.base != nil {
		if path, ok := f.needed(in.base); ok {
			return path, nil
		}
	}
	if path, ok := f.underPrefix(in, in.version); ok {
		return path, nil
	}
	// It is not in the usual places, but the interpreter may know another one.
	if in.facts == nil {
		got, err := f.probe(in.path)
		if err != nil && in.soname != "" {
			return "", f.missing(in) // it does not run because that library is missing
		}
		if err != nil {
			return "", err
		}
		in.facts, in.version = got, got.version
		if err := f.checkVersion(in); err != nil {
			return "", err
		}
		if path, ok := f.underPrefix(in, in.version); ok {
			return path, nil
		}
	}
	for _, name := range in.facts.libraries {
		if path := filepath.Join(in.facts.libdir, name); f.usable(path) {
			return path, nil
		}
	}
	return "", f.missing(in)
}

// needed searches for the library that the program names in its header, as the
// dynamic loader does.
func (f *finder) needed(in *interpreter) (string, bool) {
	if in.image == nil || in.soname == "" {
		return "", false
	}
	if strings.Contains(in.soname, "/") {
		// Builds for uv had the whole path here: $ORIGIN/../lib/libpython3.12.so.1.0.
		path := filepath.Clean(in.image.expand(in.soname))
		return path, f.usable(path)
	}
	dirs := append(in.image.searchDirs(f.env("LD_LIBRARY_PATH")), f.host.loaderDirs()...)
	for _, dir := range dirs {
		if path := filepath.Join(dir, in.soname); f.usable(path) {
			return path, true
		}
	}
	return "", false
}

// underPrefix searches the folders of the interpreter's own installation.
func (f *finder) underPrefix(in *interpreter, v version) (string, bool) {
	for _, prefix := range in.prefixes() {
		dirs := []string{filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64")}
		if f.host.triplet != "" {
			// Debian and Ubuntu: /usr/lib/x86_64-linux-gnu belongs to /usr/bin.
			dirs = append([]string{filepath.Join(prefix, "lib", f.host.triplet)}, dirs...)
		}
		for _, dir := range dirs {
			for _, name := range v.sonames() {
				if path := filepath.Join(dir, name); f.usable(path) {
					return path, true
				}
			}
		}
	}
	return "", false
}

// usable reports whether path is a shared library that this process can open. A linker script or a library for another
// processor is skipped, as by ld.so.
func (f *finder) usable(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	lib, err := elf.NewFile(file)
	if err != nil {
		return false
	}
	return lib.Type == elf.ET_DYN && (f.host.machine == 0 || lib.Machine == f.host.machine)
}

func (f *finder) givenLibrary(name string, in *interpreter) (string, error) {
	const fix = "give the libpython3.X.so.1.0 that belongs to the interpreter, or leave --libpython out"
	if !strings.Contains(name, "/") && !fileExists(name) {
		// For a soname, dlopen searches LD_LIBRARY_PATH and the cache of ldconfig.
		if v, ok := parseSoname(name); ok {
			return name, f.checkGiven(v, name, in)
		}
		return "", fail(ErrNoLibPython, fix, "--libpython names %q, which is neither a file nor the name of a libpython",
			name)
	}
	path := absolute(name)
	img, err := readImage(path)
	if err != nil {
		return "", fail(ErrNoLibPython, fix, "--libpython names %s, which is not a shared library: %v", path, err)
	}
	if f.host.machine != 0 && img.machine != f.host.machine {
		return "", fail(ErrWrongPlatform, fix,
			"--libpython names %s, which is built for the processor %v, and this program for %v", path, img.machine,
			f.host.machine)
	}
	if img.kind != elf.ET_DYN || img.interp != "" && img.soname == "" {
		return "", fail(ErrNoLibPython, fix, "--libpython names %s, which is a program, not a shared library", path)
	}
	for _, candidate := range []string{img.soname, filepath.Base(img.path)} {
		if v, ok := parseSoname(candidate); ok {
			return path, f.checkGiven(v, path, in)
		}
	}
	// libpython3.so has no version; the library that it needs has.
	if _, v, ok := img.libpython(); ok && img.soname == "libpython3.so" {
		return path, f.checkGiven(v, path, in)
	}
	return "", fail(ErrNoLibPython, fix, "--libpython names %s, which is some other library (%s)", path, img.soname)
}

// checkGiven returns an error for a library whose version is not the interpreter's: it would look for its standard
// library under a name that does not exist.
func (f *finder) checkGiven(v version, name string, in *interpreter) error {
	if err := checkVersion(v, name, newerPython); err != nil {
		return err
	}
	if !v.same(in.version) {
		return fail(ErrNoLibPython, "give the library and the interpreter of one version",
			"--libpython names %s, which is Python %s, and the interpreter %s is Python %s", name, v, in.path, in.version)
	}
	return nil
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
