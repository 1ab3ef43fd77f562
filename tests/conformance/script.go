package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// group is scripts with one server.
type group struct {
	t      *testing.T
	server *harness.Server // nil until the first of them serves
}

// script is one that runs.
type script struct {
	t         testing.TB
	ts        *testscript.TestScript
	group     *group
	server    *harness.Server
	own       *harness.Options // the arguments of start
	ended     bool             // the server was to end, and its end was checked
	seen      int              // lines of the server's log when the script began
	answer    answer           // of the last >
	channels  map[string]*channel
	receivers map[string]*receiver
	gates     []string
}

type key struct{}

// setup makes what a script has.
func (g *group) setup(env *testscript.Env) error {
	t := env.T().(shim).T
	s := &script{t: t, group: g, channels: map[string]*channel{}, receivers: map[string]*receiver{}}
	env.Values[key{}] = s
	env.Defer(s.leave)
	return nil
}

// commands are those of the package's documentation.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	list := map[string]func(*testscript.TestScript, bool, []string){}
	for name, do := range map[string]func(*script, []string) error{
		"serve": (*script).serve, "start": (*script).start, "health": (*script).health,
		">": (*script).request, "<": (*script).expect, "begin": (*script).begin, "raw": (*script).raw, "end": (*script).end,
		"event": (*script).event, "leave": (*script).drop, "until": (*script).until,
		"log": (*script).log, "gate": (*script).gate, "open": (*script).open, "file": (*script).file,
		"receiver": (*script).receiver, "reply": (*script).reply, "release": (*script).release,
		"received": (*script).received,
		"files":    (*script).files, "signal": (*script).signal, "crash": (*script).crash, "exit": (*script).exit,
	} {
		list[name] = func(ts *testscript.TestScript, negated bool, args []string) {
			if negated {
				ts.Fatalf("! has no meaning before %s", name)
			}
			s := ts.Value(key{}).(*script)
			s.ts = ts
			if s.server == nil && name != "serve" && name != "start" && name != "receiver" && name != "reply" {
				ts.Fatalf("%s comes before a server", name)
			}
			ts.Check(do(s, args))
		}
	}
	return list
}

// errUsage means that a command has too few arguments.
var errUsage = errors.New("wrong arguments: see the package's documentation")

// options reads the arguments of serve and start.
func options(args []string) (harness.Options, error) {
	var o harness.Options
	if len(args) == 0 {
		return o, errUsage
	}
	o.Model = args[0]
	for args = args[1:]; len(args) > 0 && !strings.HasPrefix(args[0], "-"); args = args[1:] {
		o.Env = append(o.Env, args[0])
	}
	for ; len(args) > 0; args = args[1:] {
		if args[0] == "--host" && len(args) > 1 {
			o.Host, args = args[1], args[1:]
		} else {
			o.Args = append(o.Args, args[0])
		}
	}
	return o, nil
}

func (s *script) serve(args []string) error {
	o, err := options(args)
	if err != nil {
		return err
	}
	if s.group.server == nil {
		s.group.server = harness.Ready(s.group.t, o)
	}
	s.server = s.group.server
	s.seen = len(s.server.Log.Lines())
	return nil
}

func (s *script) start(args []string) error {
	if len(args) != 1 || args[0] != "again" {
		o, err := options(args)
		if err != nil {
			return err
		}
		o.Dir, o.Tmp = harness.Models(s.t), harness.ShortTempDir(s.t)
		if path, isUnix := strings.CutPrefix(o.Host, "unix:"); isUnix {
			o.Host = "unix:" + filepath.Join(o.Tmp, path)
		}
		s.own = &o
	}
	if s.own == nil {
		return errors.New("nothing was started before")
	}
	s.server, s.seen, s.ended = harness.Start(s.t, *s.own), 0, false
	s.ts.Setenv("DIR", s.server.Dir)
	return nil
}

func (s *script) health(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	body := append([]string{"has"}, `{"status":"`+args[0]+`"}`)
	if err := s.until(append([]string{"GET", "/health-check", "200"}, body...)); err != nil || len(args) == 1 {
		return err
	}
	return s.until(append([]string{"GET", "/health-check", "200"}, args[1:]...))
}

// wait waits for a state, and says what it waited for where that does not come.
func (s *script) wait(what string, reached func() bool) error {
	if !assert.Within(timeout, pause, reached) {
		return fmt.Errorf("not within %s: %s", timeout, what)
	}
	return nil
}

const (
	timeout = 40 * time.Second // far more than the slowest machine needs
	pause   = 2 * time.Millisecond
)

func (s *script) log(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	return s.wait("a line of the log "+args[0], func() bool {
		for _, line := range s.server.Log.Lines()[s.seen:] {
			if fits(args[0], line.Text) {
				return true
			}
		}
		return false
	})
}

func (s *script) gate(args []string) error {
	for _, name := range args {
		path := filepath.Join(s.server.Dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return fmt.Errorf("make gate: %w", err)
		}
		s.gates = append(s.gates, path)
	}
	return nil
}

func (s *script) open(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	// To open it fails until the model reads it; to close it is what ends the reading.
	return s.wait("the model is at the gate "+args[0], func() bool {
		file, err := os.OpenFile(filepath.Join(s.server.Dir, args[0]), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil && file.Close() == nil
	})
}

func (s *script) file(args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	return os.WriteFile(filepath.Join(s.server.Dir, args[0]), []byte(args[1]), 0o600)
}

func (s *script) files(args []string) error {
	if len(args) != 1 || args[0] != "none" {
		return errUsage
	}
	var found []string
	err := s.wait("no file is left", func() bool {
		found = predictionFiles(s.server.Tmp)
		return len(found) == 0
	})
	if err != nil {
		return fmt.Errorf("%w: %q", err, found)
	}
	return nil
}

// predictionFiles is what lies in the predictions' folders of all servers below a TMPDIR.
func predictionFiles(tmp string) (found []string) {
	stores, _ := filepath.Glob(filepath.Join(tmp, "pinion-run-*", "files", "pinion-files-*")) // a fixed pattern
	for _, store := range stores {
		_ = filepath.WalkDir(store, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path != store && filepath.Base(path) != ".lock" {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

func (s *script) signal(args []string) error {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	if len(args) != 1 || signals[args[0]] == 0 {
		return errUsage
	}
	return syscall.Kill(s.server.PID, signals[args[0]])
}

func (s *script) crash(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "front":
		if err := syscall.Kill(s.server.PID, syscall.SIGKILL); err != nil {
			return err
		}
		s.ended = true
		s.server.Killed()
		return nil
	case len(args) == 1 && args[0] == "worker":
		return syscall.Kill(s.server.Worker(), syscall.SIGKILL)
	}
	return errUsage
}

func (s *script) exit(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return errUsage
	}
	s.ended = true
	s.server.Ended(code)
	if left, _ := filepath.Glob(filepath.Join(s.server.Tmp, "pinion-*")); len(left) > 0 { // a fixed pattern
		return fmt.Errorf("run folders are left: %q", left)
	}
	return nil
}

// leave looks at what a script leaves behind, and ends what it began.
func (s *script) leave() {
	for _, c := range s.channels {
		c.conn.Close()
	}
	for _, r := range s.receivers {
		r.close()
	}
	for _, path := range s.gates {
		_ = os.Remove(path) // the folder goes with its test
	}
	if s.server == nil || s.ended || s.t.Failed() {
		return
	}
	if s.own == nil {
		err := s.health([]string{"READY"})
		assert.True(s.t, err == nil, "the script leaves a server that is not ready: got %v, want no error", err)
	}
	err := s.files([]string{"none"})
	assert.True(s.t, err == nil, "the script leaves files: got %v, want no error", err)
}
