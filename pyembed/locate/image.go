package locate

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// errNotELF means that the file is a script or something else that is not an ELF image.
var errNotELF = errors.New("not an ELF file")

// image is what the headers of an ELF file say.
type image struct {
	path    string // symbolic links resolved
	machine elf.Machine
	kind    elf.Type
	soname  string
	needed  []string
	rpath   []string // DT_RPATH, as written
	runpath []string // DT_RUNPATH, as written
	interp  string   // PT_INTERP: the dynamic loader; empty for a static program
}

// readImage reads the headers of a program or library. The error matches errNotELF if the file is readable but of
// another kind.
func readImage(path string) (*image, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("resolve path: %w", err)
	}
	file, err := os.Open(resolved)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	defer file.Close()
	var magic [4]byte
	if _, err := io.ReadFull(file, magic[:]); err != nil || string(magic[:]) != elf.ELFMAG {
		return nil, fmt.Errorf("read %s: %w", resolved, errNotELF)
	}
	parsed, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("read headers of %s: %w", resolved, err)
	}
	img := &image{path: resolved, machine: parsed.Machine, kind: parsed.Type}
	for _, entry := range []struct {
		tag elf.DynTag
		to  *[]string
	}{{elf.DT_NEEDED, &img.needed}, {elf.DT_RPATH, &img.rpath}, {elf.DT_RUNPATH, &img.runpath}} {
		// A static program has no dynamic section and no such entries.
		values, err := parsed.DynString(entry.tag)
		if err != nil {
			return nil, fmt.Errorf("read dynamic section of %s: %w", resolved, err)
		}
		*entry.to = values
	}
	if names, err := parsed.DynString(elf.DT_SONAME); err == nil && len(names) > 0 {
		img.soname = names[0]
	}
	for _, prog := range parsed.Progs {
		if prog.Type == elf.PT_INTERP && prog.Filesz < 4096 {
			raw := make([]byte, prog.Filesz)
			if _, err := prog.ReadAt(raw, 0); err == nil {
				img.interp = strings.TrimRight(string(raw), "\x00")
			}
		}
	}
	return img, nil
}

// musl reports whether the program's dynamic loader is musl's.
func (m *image) musl() bool { return strings.HasPrefix(filepath.Base(m.interp), "ld-musl") }

// libpython returns the DT_NEEDED entry that is a libpython.
func (m *image) libpython() (name string, v version, ok bool) {
	for _, name := range m.needed {
		if v, ok := parseSoname(name); ok {
			return name, v, true
		}
	}
	return "", version{}, false
}

// expand replaces the tokens of ld.so(8) in one path of the headers. $LIB and
// $PLATFORM are not used by any build of Python and stay as they are.
func (m *image) expand(path string) string {
	origin := filepath.Dir(m.path)
	path = strings.ReplaceAll(path, "${ORIGIN}", origin)
	return strings.ReplaceAll(path, "$ORIGIN", origin)
}

// searchDirs returns the folders in which the loader searches for the libraries of this program, in its order: DT_RPATH
// only if there is no DT_RUNPATH, then LD_LIBRARY_PATH, then DT_RUNPATH.
func (m *image) searchDirs(libraryPath string) []string {
	var dirs []string
	add := func(lists []string) {
		for _, list := range lists {
			for _, dir := range filepath.SplitList(list) {
				if dir != "" {
					dirs = append(dirs, m.expand(dir))
				}
			}
		}
	}
	if len(m.runpath) == 0 {
		add(m.rpath)
	}
	add([]string{libraryPath})
	add(m.runpath)
	return dirs
}
