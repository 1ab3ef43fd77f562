package locate

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
)

// fakeELF describes an ELF file of which only the headers exist: enough for a
// search that reads headers, and no compiler is needed to make one.
type fakeELF struct {
	kind    elf.Type    // default ET_DYN
	machine elf.Machine // default: this host's
	interp  string
	soname  string
	needed  []string
	rpath   string
	runpath string
}

func (e fakeELF) write(t *testing.T, path string) string {
	t.Helper()
	assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(t, os.WriteFile(path, e.bytes(t), 0o755))
	return path
}

func (e fakeELF) bytes(t *testing.T) []byte {
	t.Helper()
	if e.kind == elf.ET_NONE {
		e.kind = elf.ET_DYN
	}
	if e.machine == elf.EM_NONE {
		e.machine = thisHost().machine
	}
	strs := []byte{0}
	str := func(s string) uint64 {
		at := len(strs)
		strs = append(append(strs, s...), 0)
		return uint64(at)
	}
	var dyn []elf.Dyn64
	add := func(tag elf.DynTag, s string) {
		if s != "" {
			dyn = append(dyn, elf.Dyn64{Tag: int64(tag), Val: str(s)})
		}
	}
	for _, name := range e.needed {
		add(elf.DT_NEEDED, name)
	}
	add(elf.DT_SONAME, e.soname)
	add(elf.DT_RPATH, e.rpath)
	add(elf.DT_RUNPATH, e.runpath)
	dyn = append(dyn, elf.Dyn64{Tag: int64(elf.DT_NULL)})

	interp := append([]byte(e.interp), 0)
	names := []byte("\x00.dynstr\x00.dynamic\x00.shstrtab\x00")
	const headers = 64 + 56
	interpAt := uint64(headers)
	strsAt := interpAt + uint64(len(interp))
	dynAt := strsAt + uint64(len(strs))
	namesAt := dynAt + uint64(16*len(dyn))
	sectionsAt := namesAt + uint64(len(names))

	var out bytes.Buffer
	put := func(v any) { assert.NoError(t, binary.Write(&out, binary.LittleEndian, v)) }
	head := elf.Header64{
		Type: uint16(e.kind), Machine: uint16(e.machine), Version: 1,
		Phoff: 64, Shoff: sectionsAt, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: 4, Shstrndx: 3,
	}
	copy(head.Ident[:], elf.ELFMAG)
	head.Ident[elf.EI_CLASS], head.Ident[elf.EI_DATA], head.Ident[elf.EI_VERSION] = 2, 1, 1
	put(head)
	prog := elf.Prog64{Type: uint32(elf.PT_NULL)}
	if e.interp != "" {
		prog = elf.Prog64{Type: uint32(elf.PT_INTERP), Off: interpAt, Filesz: uint64(len(interp)), Memsz: uint64(len(interp))}
	}
	put(prog)
	out.Write(interp)
	out.Write(strs)
	put(dyn)
	out.Write(names)
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_STRTAB), Off: strsAt, Size: uint64(len(strs)), Addralign: 1})
	put(elf.Section64{
		Name: 9, Type: uint32(elf.SHT_DYNAMIC), Off: dynAt, Size: uint64(16 * len(dyn)), Link: 1, Addralign: 1, Entsize: 16,
	})
	put(elf.Section64{Name: 18, Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names)), Addralign: 1})
	return out.Bytes()
}

// world is a made-up machine under a temporary folder: nothing of the real one
// shows through but the processor.
type world struct {
	t    *testing.T
	root string
	vars map[string]string
	host host
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := assert.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	machine := thisHost().machine
	if machine == elf.EM_NONE {
		t.Skip("no ELF machine is known for this processor")
	}
	w := &world{t: t, root: root, vars: map[string]string{}}
	w.host = host{
		machine:    machine,
		triplet:    "x86_64-linux-gnu",
		loaderConf: w.path("etc/ld.so.conf"),
		defaults:   []string{w.path("lib"), w.path("usr/lib")},
		usr:        w.path("usr"),
		osRelease:  []string{w.path("etc/os-release"), w.path("usr/lib/os-release")},
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.root, name) }

func (w *world) elf(name string, e fakeELF) string { return e.write(w.t, w.path(name)) }

// lib makes a shared library whose soname is its file name.
func (w *world) lib(name string) string { return w.elf(name, fakeELF{soname: filepath.Base(name)}) }

func (w *world) file(name, text string, mode os.FileMode) string {
	w.t.Helper()
	path := w.path(name)
	assert.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(w.t, os.WriteFile(path, []byte(text), mode))
	return path
}

// link makes name a symbolic link to target, which is inside the world.
func (w *world) link(name, target string) string {
	w.t.Helper()
	path := w.path(name)
	assert.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(w.t, os.Symlink(w.path(target), path))
	return path
}

func (w *world) find(o Options) (*Python, error) {
	o.Env = func(name string) string { return w.vars[name] }
	if o.Dir == "" {
		o.Dir = w.path("model")
	}
	return newFinder(o, w.host).find(o)
}
