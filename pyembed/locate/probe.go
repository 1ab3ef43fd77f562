package locate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A pyenv shim takes some 0.1 s; on a cold network disk Python itself can take
// many seconds. An interpreter that takes longer is broken.
const probeTimeout = 30 * time.Second

// The mark keeps our lines apart from what a wrapper script prints. The program
// is understood by Python 2 as well, so that an old one is refused for its age.
const (
	probeMark    = "pinion-locate "
	probeProgram = `
import sys, sysconfig
get = sysconfig.get_config_var
for pair in (
    ("executable", sys.executable),
    ("implementation", getattr(getattr(sys, "implementation", None), "name", "")),
    ("version", "%d.%d" % sys.version_info[:2]),
    ("free_threaded", get("Py_GIL_DISABLED") or ""),
    ("abiflags", getattr(sys, "abiflags", "")),
    ("prefix", getattr(sys, "base_prefix", sys.prefix)),
    ("libdir", get("LIBDIR") or ""),
    ("instsoname", get("INSTSONAME") or ""),
    ("ldlibrary", get("LDLIBRARY") or ""),
):
    print("` + probeMark + `%s=%s" % pair)
`
)

// facts is what an interpreter reports about itself.
type facts struct {
	executable     string
	implementation string
	version        version
	prefix         string
	libdir         string
	libraries      []string // names of its library in sysconfig
}

// probe runs the program to ask it. It takes 15 ms for a Python and 100 ms for a shim, so it is the last resort.
func (f *finder) probe(path string) (*facts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	// -I: neither the folder, nor PYTHON* variables, nor the user's packages may
	// change the answer. -S: no site, no .pth files, and so no foreign code.
	cmd := exec.CommandContext(ctx, path, "-I", "-S", "-c", probeProgram)
	if isDir(f.dir) {
		cmd.Dir = f.dir
	}
	cmd.Env = append(os.Environ(), "PATH="+f.env("PATH"))
	// The group is ended with the program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a shim's grandchild may hold the pipe
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// ErrWaitDelay means that it has succeeded, and that a child holds the pipe.
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", probeTimeout)
		}
		return nil, fail(ErrNoPython, pickAnother,
			"%s does not run as a Python interpreter: %v%s", path, err, lastLines(stderr.String()))
	}
	got, ok := parseFacts(stdout.String())
	if !ok {
		return nil, fail(ErrNoPython, pickAnother,
			"%s does not run as a Python interpreter: it ended without an answer%s", path, lastLines(stderr.String()))
	}
	return got, nil
}

func parseFacts(output string) (*facts, bool) {
	values := map[string]string{}
	for line := range strings.Lines(output) {
		pair, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), probeMark)
		if !ok {
			continue
		}
		if key, value, ok := strings.Cut(pair, "="); ok {
			values[key] = value
		}
	}
	v, ok := parseVersion(values["version"])
	if !ok {
		return nil, false
	}
	v.flags = values["abiflags"]
	if values["free_threaded"] == "1" && !v.freeThreaded() {
		v.flags = "t" + v.flags
	}
	got := &facts{
		executable:     values["executable"],
		implementation: values["implementation"],
		version:        v,
		prefix:         values["prefix"],
		libdir:         values["libdir"],
	}
	for _, key := range []string{"instsoname", "ldlibrary"} {
		// A static build names an archive here, libpython3.12.a.
		if _, ok := parseSoname(values[key]); ok {
			got.libraries = append(got.libraries, values[key])
		}
	}
	return got, true
}

// lastLines returns the end of what a failing program wrote, for a message.
func lastLines(text string) string {
	const most = 400
	text = strings.TrimSpace(text)
	if strings.Contains(text, probeMark) { // a program that repeats its arguments
		return ""
	}
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	if text == "" {
		return ""
	}
	return ": " + strings.Join(strings.Fields(text), " ")
}
