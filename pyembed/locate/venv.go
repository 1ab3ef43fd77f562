package locate

import (
	"os"
	"path/filepath"
	"strings"
)

// venv is the content of a pyvenv.cfg (PEP 405).
type venv struct {
	dir  string // the folder of pyvenv.cfg
	home string // the folder of the interpreter that it was made from
	base string // that interpreter itself; written since Python 3.11
	// version is "3.12.1", by venv as "version", by virtualenv and uv as "version_info".
	version string
	uv      bool // made by uv
}

// readVenv finds the pyvenv.cfg of an interpreter where CPython looks for it: beside the unresolved program or one
// folder up. It returns nil outside of a virtual environment.
func readVenv(executable string) *venv {
	bin := filepath.Dir(executable)
	for _, dir := range []string{bin, filepath.Dir(bin)} {
		text, err := os.ReadFile(filepath.Join(dir, "pyvenv.cfg"))
		if err != nil {
			continue
		}
		env := &venv{dir: dir}
		for line := range strings.Lines(string(text)) {
			key, value, ok := strings.Cut(line, "=")
			if !ok {
				continue
			}
			value = strings.TrimSpace(value)
			switch strings.ToLower(strings.TrimSpace(key)) {
			case "home":
				env.home = value
			case "executable", "base-executable":
				env.base = value
			case "version", "version_info":
				env.version = value
			case "uv":
				env.uv = true
			}
		}
		return env
	}
	return nil
}

// baseRemoved reports whether the Python from which the environment was made was removed. The environment then has no
// standard library and cannot start.
func (e *venv) baseRemoved() bool {
	return e.home != "" && !isDir(e.home)
}

// interpreter finds the program that the environment was made from. name is the environment's own program, whose name
// older versions of venv keep.
func (e *venv) interpreter(name string) (string, bool) {
	candidates := []string{e.base}
	if e.home != "" {
		if v, ok := e.language(); ok {
			candidates = append(candidates, filepath.Join(e.home, "python"+v.String()))
		}
		for _, name := range []string{name, "python3", "python"} {
			candidates = append(candidates, filepath.Join(e.home, name))
		}
	}
	for _, path := range candidates {
		if path != "" && executable(path) == nil {
			return path, true
		}
	}
	return "", false
}

// language returns the language version that the environment was made for.
func (e *venv) language() (version, bool) {
	parts := strings.SplitN(e.version, ".", 3)
	if len(parts) < 2 {
		return version{}, false
	}
	return parseVersion(parts[0] + "." + parts[1])
}
