package locate

import (
	"fmt"
	"strconv"
	"strings"
)

// oldest is the first CPython that Pinion runs on; oldestFree the first whose free-threaded build it runs on.
var (
	oldest     = version{major: 3, minor: 10}
	oldestFree = version{major: 3, minor: 14, flags: "t"}
)

// version is a language version with CPython's ABI flags: "t" free-threaded,
// "d" debug, "m" pymalloc (before 3.8). The zero value means unknown.
type version struct {
	major, minor int
	flags        string
}

func (v version) known() bool        { return v.major != 0 }
func (v version) freeThreaded() bool { return strings.Contains(v.flags, "t") }

// String returns the version as in the names of CPython's programs: 3.14t is the free-threaded build of 3.14.
func (v version) String() string {
	name := fmt.Sprintf("%d.%d", v.major, v.minor)
	if v.freeThreaded() {
		name += "t"
	}
	return name
}

func (v version) olderThan(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// same reports whether a library of the one fits an interpreter of the other: debug builds have the same standard
// library.
func (v version) same(w version) bool { return v.String() == w.String() }

// sonames returns the file names under which CPython's "make install" installs the shared library of this version, the
// one to open first.
func (v version) sonames() []string {
	name := fmt.Sprintf("libpython%d.%d%s.so", v.major, v.minor, v.flags)
	return []string{name + ".1.0", name}
}

// parseSoname reads "libpython3.12.so.1.0", "libpython3.13t.so" and the like; a
// folder before the name is ignored. "libpython3.so", the stub with no version,
// is not one.
func parseSoname(name string) (version, bool) {
	name = name[strings.LastIndexByte(name, '/')+1:]
	rest, ok := strings.CutPrefix(name, "libpython")
	if !ok {
		return version{}, false
	}
	stem, tail, ok := strings.Cut(rest, ".so")
	if !ok || tail != "" && tail[0] != '.' {
		return version{}, false
	}
	return parseVersion(stem)
}

// parseProgram reads the version in the name of an interpreter: "python3.12", "python3.13t". "python3" has none.
func parseProgram(name string) (version, bool) {
	rest, ok := strings.CutPrefix(name, "python")
	if !ok {
		return version{}, false
	}
	return parseVersion(rest)
}

// parseVersion reads "3.12" with ABI flags behind it.
func parseVersion(s string) (version, bool) {
	first, second, ok := strings.Cut(s, ".")
	if !ok {
		return version{}, false
	}
	end := 0
	for end < len(second) && second[end] >= '0' && second[end] <= '9' {
		end++
	}
	major, err := strconv.Atoi(first)
	if err != nil || major < 1 {
		return version{}, false
	}
	minor, err := strconv.Atoi(second[:end])
	if err != nil {
		return version{}, false
	}
	flags := second[end:]
	if strings.Trim(flags, "tdmu") != "" {
		return version{}, false
	}
	return version{major: major, minor: minor, flags: flags}, true
}

// checkVersion returns an error for a version that Pinion does not run on. what names the file, and newer says how to
// get a newer version.
func checkVersion(v version, what, newer string) error {
	switch {
	case v.olderThan(oldest):
		return fail(ErrTooOld, newer,
			"%s is Python %s, and Pinion needs CPython %s or newer", what, v, oldest)
	case v.freeThreaded() && v.olderThan(oldestFree):
		return fail(ErrFreeThreaded,
			fmt.Sprintf("use the ordinary build of Python %d.%d, or Python %s or newer, and name it with --python PATH or "+
				"PINION_PYTHON", v.major, v.minor, oldestFree),
			"%s is a free-threaded build of Python, %s, and Pinion supports those from %s on", what, v, oldestFree)
	}
	return nil
}
