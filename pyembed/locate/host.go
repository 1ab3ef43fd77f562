package locate

import (
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// host is the machine as the dynamic loader sees it.
type host struct {
	// machine is the processor; EM_NONE disables the check.
	machine elf.Machine
	// triplet is Debian's name of the platform, part of library folders there.
	triplet string
	// loaderConf is the file that lists the loader's own folders.
	loaderConf string
	// defaults are the folders that ld.so searches last.
	defaults []string
	// musl reports whether this program uses musl instead of glibc.
	musl bool
	// self is the path of this program, with links resolved, or "" if it is not known.
	self string
	// usr is the folder of the system's own programs, and osRelease the files that name the system.
	usr       string
	osRelease []string
}

// distribution reads which system this is, when an error needs it.
func (h host) distribution() distribution { return readDistribution(h.osRelease) }

// platform maps GOARCH to the ELF machine and Debian's triplet.
func platform(arch string) (elf.Machine, string) {
	switch arch {
	case "amd64":
		return elf.EM_X86_64, "x86_64-linux-gnu"
	case "arm64":
		return elf.EM_AARCH64, "aarch64-linux-gnu"
	case "ppc64le":
		return elf.EM_PPC64, "powerpc64le-linux-gnu"
	case "riscv64":
		return elf.EM_RISCV, "riscv64-linux-gnu"
	case "s390x":
		return elf.EM_S390, "s390x-linux-gnu"
	}
	return elf.EM_NONE, ""
}

func thisHost() host {
	machine, triplet := platform(runtime.GOARCH)
	h := host{
		machine:    machine,
		triplet:    triplet,
		loaderConf: "/etc/ld.so.conf",
		defaults:   []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib"},
		usr:        "/usr",
		osRelease:  []string{"/etc/os-release", "/usr/lib/os-release"},
	}
	if triplet != "" {
		h.defaults = append([]string{"/lib/" + triplet, "/usr/lib/" + triplet}, h.defaults...)
	}
	if self, err := readImage("/proc/self/exe"); err == nil {
		h.musl, h.self = self.musl(), self.path
	}
	return h
}

// loaderDirs returns the folders that the loader searches for any library: those of ld.so.conf, then the built-in ones.
func (h host) loaderDirs() []string {
	return append(readLoaderConf(h.loaderConf, 0), h.defaults...)
}

// readLoaderConf reads ld.so.conf(5) with its includes. A file that can't be
// read has no folders, as for the loader.
func readLoaderConf(path string, depth int) []string {
	const deepest = 8 // ends a file that includes itself
	text, err := os.ReadFile(path)
	if err != nil || depth > deepest {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if fields[0] != "include" {
			dirs = append(dirs, fields[0])
			continue
		}
		for _, pattern := range fields[1:] {
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(path), pattern)
			}
			names, err := filepath.Glob(pattern)
			if err != nil {
				continue // a malformed pattern names no file
			}
			for _, name := range names {
				dirs = append(dirs, readLoaderConf(name, depth+1)...)
			}
		}
	}
	return dirs
}
