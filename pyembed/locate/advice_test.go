package locate

import (
	"testing"
)

// The files os-release of some systems, without their lines of colours and addresses.
var systems = map[string]string{
	"Debian 11":      "PRETTY_NAME=\"Debian GNU/Linux 11 (bullseye)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"11\"\nVERSION=\"11 (bullseye)\"\nID=debian\n",
	"Debian 12":      "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nID=debian\n",
	"Debian 13":      "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"13\"\nVERSION=\"13 (trixie)\"\nID=debian\n",
	"Debian testing": "PRETTY_NAME=\"Debian GNU/Linux forky/sid\"\nNAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=forky\nID=debian\n",
	"Ubuntu 20.04":   "NAME=\"Ubuntu\"\nVERSION=\"20.04.6 LTS (Focal Fossa)\"\nID=ubuntu\nID_LIKE=debian\nPRETTY_NAME=\"Ubuntu 20.04.6 LTS\"\nVERSION_ID=\"20.04\"\n",
	"Ubuntu 22.04":   "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nID=ubuntu\nID_LIKE=debian\n",
	"Ubuntu 24.04":   "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n",
	"Mint":           "NAME=\"Linux Mint\"\nVERSION=\"22 (Wilma)\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nPRETTY_NAME=\"Linux Mint 22\"\nVERSION_ID=\"22\"\n",
	"Fedora":         "NAME=\"Fedora Linux\"\nVERSION=\"41 (Container Image)\"\nID=fedora\nVERSION_ID=41\nPRETTY_NAME=\"Fedora Linux 41 (Container Image)\"\n",
	"Rocky":          "NAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue Onyx)\"\n",
	"Amazon":         "NAME=\"Amazon Linux\"\nVERSION=\"2023\"\nID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\nPRETTY_NAME=\"Amazon Linux 2023\"\n",
	"Alpine":         "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\nPRETTY_NAME=\"Alpine Linux v3.20\"\n",
	"Arch":           "NAME=\"Arch Linux\"\nPRETTY_NAME=\"Arch Linux\"\nID=arch\nBUILD_ID=rolling\n",
	"unknown":        "",
}

// on is a made-up machine with a system.
func on(t *testing.T, system string) *world {
	t.Helper()
	w := newWorld(t)
	text, ok := systems[system]
	if !ok {
		t.Fatalf("there is no system %s", system)
	}
	if text != "" {
		w.file("etc/os-release", text, 0o644)
	}
	return w
}

// answers is a program of the world that says what an interpreter without a shared library says.
func answers(w *world, place, version string) string {
	return w.file(place+"/bin/python"+version,
		answer("version="+version, "implementation=cpython", "prefix="+w.path(place),
			"instsoname=libpython"+version+".a", "libdir="+w.path(place+"/lib")), 0o755)
}

// TestAdvice_NoPythonBySystem: a machine without Python is answered with its own packages.
func TestAdvice_NoPythonBySystem(t *testing.T) {
	for system, want := range map[string]string{
		"Debian 11":      "Debian GNU/Linux 11 (bullseye) has only Python 3.9: install a newer one with uv python install 3.12, and name it",
		"Debian 12":      "apt-get install python3 libpython3.11, or name another one with --python",
		"Debian 13":      "apt-get install python3 libpython3.13, or name another one with --python",
		"Debian testing": "apt-get install python3 libpython3-dev, or name another one with --python",
		"Ubuntu 20.04":   "Ubuntu 20.04.6 LTS has only Python 3.8: install a newer one with uv python install 3.12",
		"Ubuntu 22.04":   "apt-get install python3 libpython3.10,",
		"Ubuntu 24.04":   "apt-get install python3 libpython3.12,",
		"Mint":           "apt-get install python3 libpython3-dev,",
		"Fedora":         "dnf install python3, or name",
		"Rocky":          "dnf install python3.12, and name it with --python",
		"Amazon":         "dnf install python3.12, and name it with --python",
		"Alpine":         "the Python of Alpine Linux v3.20 is built for musl, and this program for glibc: run the model on a system with glibc",
		"Arch":           "install CPython 3.10 or newer with its shared library",
		"unknown":        "install CPython 3.10 or newer with its shared library",
	} {
		t.Run(system, func(t *testing.T) {
			got, err := on(t, system).find(Options{})
			wantError(t, got, err, ErrNoPython, "no python3 on the PATH", want)
		})
	}
}

// TestAdvice_NoLibraryBySystem: the system's own interpreter is there, and its library is in a package that is not.
func TestAdvice_NoLibraryBySystem(t *testing.T) {
	for _, c := range []struct {
		system, version string
		build           func(w *world, version string) string
		want            string
	}{
		{"Debian 12", "3.11", linkedIn, "install it with apt-get install libpython3.11,"},
		{"Debian testing", "3.14", linkedIn, "install it with apt-get install libpython3.14,"},
		{"Ubuntu 24.04", "3.12", linkedIn, "install it with apt-get install libpython3.12,"},
		{"Ubuntu 24.04", "3.13", linkedIn, "install it with apt-get install libpython3.13,"},
		{"Mint", "3.12", linkedIn, "install it with apt-get install libpython3.12,"},
		{"Fedora", "3.13", python3, "install it with dnf install python3-libs,"},
		{"Fedora", "3.12", beside, "install it with dnf install python3.12,"},
		{"Rocky", "3.12", beside, "install it with dnf install python3.12-libs,"},
		{"Amazon", "3.11", beside, "install it with dnf install python3.11-libs,"},
		{"Arch", "3.12", python3, "install the package of your system that has libpython3.12.so.1.0"},
	} {
		t.Run(c.system+" "+c.version, func(t *testing.T) {
			w := on(t, c.system)
			got, err := w.find(Options{Python: c.build(w, c.version)})
			wantError(t, got, err, ErrNoLibPython, "has no shared library libpython"+c.version+".so.1.0", c.want,
				"--libpython PATH")
		})
	}
}

// linkedIn is an interpreter with the library linked in: it runs without the shared one.
func linkedIn(w *world, version string) string { return answers(w, "usr", version) }

// beside is an interpreter that needs the shared library, so that it does not run. It is not the system's python3.
func beside(w *world, version string) string {
	return w.elf("usr/bin/python"+version, fakeELF{needed: []string{"libpython" + version + ".so.1.0"}})
}

// python3 is one that is.
func python3(w *world, version string) string {
	beside(w, version)
	return w.link("usr/bin/python3", "usr/bin/python"+version)
}

// TestAdvice_NoLibraryByOrigin: what installed the interpreter installs its library, on any system.
func TestAdvice_NoLibraryByOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		place string
		want  string
	}{
		"uv": {
			"home/.local/share/uv/python/cpython-3.12.7-linux-x86_64-gnu",
			"uv python install --reinstall cpython-3.12.7-linux-x86_64-gnu,",
		},
		"uv for musl": {
			"uv/cpython-3.12.7-linux-x86_64-musl",
			"uv python install cpython-3.12.7-linux-x86_64-gnu, and name it",
		},
		"pyenv":   {"home/.pyenv/versions/3.12.7", "PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force 3.12.7,"},
		"conda":   {"home/miniconda3/envs/model", "/home/miniconda3/envs/model --force-reinstall python,"},
		"by hand": {"opt/python", "build that Python again with ./configure --enable-shared, or"},
	} {
		t.Run(name, func(t *testing.T) {
			w := on(t, "Debian 12")
			if name == "conda" {
				w.file(c.place+"/conda-meta/history", "", 0o644)
			}
			base := answers(w, c.place, "3.12")
			got, err := w.find(Options{Python: base})
			wantError(t, got, err, ErrNoLibPython, "has no shared library libpython3.12.so.1.0", c.want)
			// The same in a virtual environment, whose program is a link to it.
			w.file("model/.venv/pyvenv.cfg", "home = "+w.path(c.place+"/bin")+"\n", 0o644)
			w.elf(c.place+"/bin/python3.12", fakeELF{needed: []string{"libpython3.12.so.1.0"}, runpath: "$ORIGIN/../lib"})
			w.link("model/.venv/bin/python3", c.place+"/bin/python3.12")
			got, err = w.find(Options{})
			wantError(t, got, err, ErrNoLibPython, "model/.venv/bin/python3 has no shared library libpython3.12.so.1.0", c.want)
		})
	}
}

// TestAdvice_TooOldBySystem: the interpreter is the system's own, 3.9.
func TestAdvice_TooOldBySystem(t *testing.T) {
	for system, want := range map[string]string{
		"Debian 11":    "Debian GNU/Linux 11 (bullseye) has only Python 3.9: install a newer one with uv python install 3.12",
		"Debian 12":    "apt-get install python3 libpython3.11",
		"Ubuntu 20.04": "Ubuntu 20.04.6 LTS has only Python 3.8: install a newer one with uv python install 3.12",
		"Fedora":       "dnf install python3, or name",
		"Rocky":        "dnf install python3.12, and name it with --python",
		"unknown":      "install CPython 3.10 or newer with its shared library",
	} {
		t.Run(system, func(t *testing.T) {
			w := on(t, system)
			got, err := w.find(Options{Python: w.elf("usr/bin/python3.9", fakeELF{})})
			wantError(t, got, err, ErrTooOld, "usr/bin/python3.9 is Python 3.9, and Pinion needs CPython 3.10 or newer", want)
		})
	}
}

// TestAdvice_TooOldByOrigin: what installed the old one installs a newer one, and an environment is made again.
func TestAdvice_TooOldByOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		place string
		cfg   string // of an environment that is made from it
		want  []string
	}{
		"uv": {"uv/python/cpython-3.9.20-linux-x86_64-gnu", "", []string{"uv python install 3.12, and name it"}},
		"uv venv": {
			"uv/python/cpython-3.9.20-linux-x86_64-gnu", "uv = 0.5.1\nversion_info = 3.9.20\n",
			[]string{"make the environment again with uv venv --clear --python 3.12 ", "model/.venv"},
		},
		"pyenv": {
			"home/.pyenv/versions/3.9.18", "",
			[]string{"PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install 3.12, and name it"},
		},
		"pyenv venv": {
			"home/.pyenv/versions/3.9.18", "version = 3.9.18\n",
			[]string{"pyenv install 3.12", "-m venv --clear ", "model/.venv"},
		},
		"conda": {"miniconda3", "", []string{"conda install --prefix ", "/miniconda3 python=3.12"}},
		"by hand": {
			"opt/python", "",
			[]string{"install Python 3.10 or newer and name it with --python PATH or PINION_PYTHON"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := on(t, "Debian 12")
			if name == "conda" {
				w.file(c.place+"/conda-meta/history", "", 0o644)
			}
			o := Options{Python: w.elf(c.place+"/bin/python3.9", fakeELF{})}
			if c.cfg != "" {
				w.file("model/.venv/pyvenv.cfg", "home = "+w.path(c.place+"/bin")+"\n"+c.cfg, 0o644)
				w.link("model/.venv/bin/python3", c.place+"/bin/python3.9")
				o = Options{}
			}
			got, err := w.find(o)
			wantError(t, got, err, ErrTooOld, append(c.want, "is Python 3.9, and Pinion needs CPython 3.10 or newer")...)
		})
	}
}

// TestAdvice_Musl: a Python of musl is refused with the reason, whether it is the system's or another one.
func TestAdvice_Musl(t *testing.T) {
	const loader = "/lib/ld-musl-x86_64.so.1"
	for system, want := range map[string]string{
		"Alpine":    "run the model on a system with glibc, such as Debian or Ubuntu, or in an image with it, such as python:3.12-slim",
		"Debian 12": "choose one that is linked with glibc, with --python PATH",
	} {
		t.Run(system, func(t *testing.T) {
			w := on(t, system)
			w.lib("usr/lib/libpython3.12.so.1.0")
			w.elf("usr/bin/python3.12",
				fakeELF{interp: loader, needed: []string{"libpython3.12.so.1.0", "libc.musl-x86_64.so.1"}})
			w.link("usr/bin/python3", "usr/bin/python3.12")
			w.vars["PATH"] = w.path("usr/bin")
			got, err := w.find(Options{})
			wantError(t, got, err, ErrWrongPlatform,
				"usr/bin/python3 and this program use different C libraries, musl ("+loader+") and glibc, "+
					"and one process can load only one", want)
		})
	}
}
