package locate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// choose returns the absolute, unresolved path of the interpreter to use, and why it was chosen. flag is --python.
func (f *finder) choose(flag string) (path, source string, err error) {
	if flag != "" {
		path, err = f.named(flag, "--python")
		return path, "--python", err
	}
	if name := f.env("PINION_PYTHON"); name != "" {
		path, err = f.named(name, "PINION_PYTHON")
		return path, "PINION_PYTHON", err
	}
	if dir := f.env("VIRTUAL_ENV"); dir != "" {
		path, err = inEnvironment(absolute(dir))
		if err != nil {
			return "", "", fail(ErrNoPython,
				"run deactivate or unset VIRTUAL_ENV, or make the environment again with python3 -m venv",
				"VIRTUAL_ENV names %s, but %v", dir, err)
		}
		return path, "VIRTUAL_ENV", nil
	}
	if dir := absolute(filepath.Join(f.dir, ".venv")); isEnvironment(dir) {
		path, err = inEnvironment(dir)
		if err != nil {
			return "", "", fail(ErrNoPython,
				"make it again with python3 -m venv --clear "+dir+", or choose another interpreter with --python PATH",
				"the model's folder has the virtual environment %s, but %v", dir, err)
		}
		return path, ".venv", nil
	}
	if dir, ok := f.ownEnvironment(); ok {
		path, err = inEnvironment(dir)
		if err != nil {
			return "", "", fail(ErrNoPython, pickAnother, "pinion is installed in the environment %s, but %v", dir, err)
		}
		return path, ownSource, nil
	}
	path, ok := f.lookPath("python3")
	if !ok {
		return "", "", fail(ErrNoPython, f.pythonFix(),
			"no python3 on the PATH (%s), no active virtual environment and no .venv in %s",
			f.env("PATH"), absolute(f.dir))
	}
	return path, "PATH", nil
}

// ownSource is Python.Source if pinion is in an environment, where its wheel installs it.
const ownSource = "environment of pinion"

// ownEnvironment returns the environment in which this program is installed. One that pipx or uv tool made does not
// count, because it has no packages of a model.
func (f *finder) ownEnvironment() (dir string, ok bool) {
	bin, program := filepath.Split(f.host.self)
	dir = filepath.Dir(filepath.Clean(bin))
	if program == "" || filepath.Base(bin) != "bin" {
		return "", false
	}
	for _, tool := range []string{"pipx_metadata.json", "uv-receipt.toml"} {
		if fileExists(filepath.Join(dir, tool)) {
			return "", false
		}
	}
	return dir, fileExists(filepath.Join(dir, "pyvenv.cfg")) || isDir(filepath.Join(dir, "conda-meta"))
}

// named finds the interpreter that a user named: a path, a name on the PATH, or
// the folder of an environment. setting is the name of what named it.
func (f *finder) named(name, setting string) (string, error) {
	const fix = "give the path of a Python 3.10 or newer, for example /usr/bin/python3"
	if !strings.Contains(name, "/") {
		if path, ok := f.lookPath(name); ok {
			return path, nil
		}
		// "--python venv" with a folder of that name is clear enough.
		if !isEnvironment(absolute(name)) {
			if _, ok := f.lookPath("python" + name); ok {
				return "", fail(ErrNoPython, "write python"+name, "%s names %q, which is a version", setting, name)
			}
			return "", fail(ErrNoPython, fix, "%s names %q, which is not on the PATH", setting, name)
		}
	}
	path := absolute(name)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		inside, err := inEnvironment(path)
		if err != nil {
			return "", fail(ErrNoPython, fix, "%s names the folder %s, but %v", setting, path, err)
		}
		return inside, nil
	}
	if err := executable(path); err != nil {
		return "", fail(ErrNoPython, fix, "%s names %s, but %v", setting, path, err)
	}
	return path, nil
}

// lookPath finds a program on the PATH as a shell does, but never in the current folder: with an empty entry of the
// PATH, the model's folder would decide.
func (f *finder) lookPath(name string) (string, bool) {
	for _, dir := range filepath.SplitList(f.env("PATH")) {
		if dir == "" {
			continue
		}
		path := absolute(filepath.Join(dir, name))
		if executable(path) == nil {
			return path, true
		}
	}
	return "", false
}

// inEnvironment finds the interpreter of an environment's folder.
func inEnvironment(dir string) (string, error) {
	var first error
	for _, name := range []string{"python3", "python"} {
		path := filepath.Join(dir, "bin", name)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// isEnvironment reports whether a folder is a virtual environment, even a broken one. A folder or file may only have
// its name (pipenv's .venv is a text file).
func isEnvironment(dir string) bool {
	return slices.ContainsFunc([]string{"pyvenv.cfg", "bin/python3", "bin/python"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// executable returns why path cannot be run, or nil if it can.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(path); err == nil {
			return errors.New(path + " is a link to " + target + ", which is not there")
		}
		return errors.New(path + " does not exist")
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New(path + " is not a program")
	case info.Mode()&0o111 == 0:
		return errors.New(path + " is not executable")
	}
	return nil
}
