package supervise

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
	"pinion/tests/assert"
)

// supervised is a supervisor over fake workers.
type supervised struct {
	*Supervisor
	t       *testing.T
	pool    *slot.Pool
	changes chan struct{}
	loaded  chan ipc.Loaded
}

// prepare makes a supervisor; Run is for the caller to start. The test ends with it killed.
func prepare(t *testing.T, mode string, change func(*Options)) *supervised {
	t.Helper()
	exe := assert.Must(os.Executable())(t)
	s := &supervised{t: t, changes: make(chan struct{}, 1), loaded: make(chan ipc.Loaded, 100)}
	o := Options{
		Exe: exe, Spec: ipc.WorkerConfig{Ref: mode, Root: t.TempDir()}, Env: WorkerEnv(nil),
		Pool:   slot.NewPool(slot.Options{}),
		Logger: slog.New(slog.DiscardHandler),
	}
	o.Hooks.OnLoaded = func(l ipc.Loaded) { s.loaded <- l }
	o.Hooks.OnChange = func() {
		select {
		case s.changes <- struct{}{}:
		default:
		}
	}
	if change != nil {
		change(&o)
	}
	s.pool = o.Pool
	s.Supervisor = New(o)
	t.Cleanup(func() {
		s.Kill()
		<-s.Done()
	})
	return s
}

// supervise starts a supervisor over fake workers.
func supervise(t *testing.T, mode string, change func(*Options)) *supervised {
	t.Helper()
	s := prepare(t, mode, change)
	go s.Run()
	return s
}

// until waits for a status, looking whenever it changed.
func (s *supervised) until(what string, reached func(Status) bool) Status {
	s.t.Helper()
	deadline := time.After(time.Minute)
	for {
		st := s.Status()
		if reached(st) {
			return st
		}
		select {
		case <-s.changes:
		case <-deadline:
			s.t.Fatalf("the status is %+v, want %s", st, what)
		}
	}
}

func ready(st Status) bool   { return st.State == Ready }
func defunct(st Status) bool { return st.Defunct }

// TestSupervisor_ReadyAndStop: a good worker gets ready, its setup's text is kept, and it leaves when asked to.
func TestSupervisor_ReadyAndStop(t *testing.T) {
	s := supervise(t, "serve", nil)
	st := s.until("ready", ready)
	assert.True(t, st.Setup.Logs == "from setup\n" && !st.Setup.Failed && !st.Setup.Completed.IsZero(),
		"setup = %+v, want Logs %q, Failed false and Completed non-zero", st.Setup, "from setup\n")
	if l := <-s.loaded; l.Slots != 2 || string(l.Schema) != `{"fake":true}` || l.Python != "3.12.1" {
		t.Errorf("loaded = %+v, want Slots 2, Schema %q and Python 3.12.1", l, `{"fake":true}`)
	}
	assert.Equal(t, "slots", s.pool.Load().Slots, 2)
	pid := st.PID
	s.Stop()
	<-s.Done()
	err := unix.Kill(pid, 0)
	assert.True(t, err == unix.ESRCH, "the worker's process is still there: %v, want %d", err, unix.ESRCH)
	if st := s.Status(); st.State != Exited || st.LastExit != "" || st.Defunct {
		t.Errorf("after a clean stop: %+v, want State %v, LastExit empty and Defunct false", st, Exited)
	}
	assert.Equal(t, "slots that are left", s.pool.Load().Slots, 0)
}

// TestSupervisor_SetupThatFails: each way not to get ready ends the worker for good, in words.
func TestSupervisor_SetupThatFails(t *testing.T) {
	for mode, want := range map[string]string{
		"exit":            "exited with code 7 before its setup began",
		"garbage":         "protocol violated",
		"another-version": "protocol version 99",
		"greedy":          "out of bounds",
		"fail":            "ValueError: no weights",
		"crash":           "killed by SIGTERM during setup",
		"hang":            "timed out",
	} {
		t.Run(mode, func(t *testing.T) {
			s := supervise(t, mode, func(o *Options) {
				if mode == "hang" {
					o.Timeouts.Setup = 200 * time.Millisecond
				}
			})
			st := s.until("defunct", defunct)
			assert.True(t, st.SetupFailed && st.Setup.Failed, "status = %+v, want SetupFailed true and Failed true", st)
			assert.Contains(t, "st.LastExit + st.Setup.Logs", st.LastExit+st.Setup.Logs, want)
			<-s.Done()
		})
	}
}

// TestSupervisor_WorkerIsReplaced: one that dies when it was ready is followed by another.
func TestSupervisor_WorkerIsReplaced(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "died")
	s := supervise(t, "once die "+mark, nil)
	st := s.until("ready again", func(st Status) bool { return ready(st) && st.Restarts == 1 })
	assert.Contains(t, "last", st.LastExit, "SIGKILL")
	assert.Equal(t, "slots", s.pool.Load().Slots, 2)
}

// TestSupervisor_Never: with that policy none follows.
func TestSupervisor_Never(t *testing.T) {
	s := supervise(t, "die", func(o *Options) { o.Policy.Restart = Never })
	st := s.until("defunct", defunct)
	assert.True(t, !st.SetupFailed && st.Restarts == 0, "status = %+v, want SetupFailed false and Restarts 0", st)
	<-s.Done()
}

// TestSupervisor_Kill ends a worker that would not leave.
func TestSupervisor_Kill(t *testing.T) {
	s := supervise(t, "ignores-shutdown", nil)
	s.until("ready", ready)
	s.Stop()
	s.until("draining", func(st Status) bool { return st.State == Draining })
	s.Kill()
	<-s.Done()
}
