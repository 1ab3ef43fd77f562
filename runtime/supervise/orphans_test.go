package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// adopt makes this process the parent of its descendants' orphans while the test runs.
func adopt(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skipf("this process cannot be a subreaper: %v", err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
}

// orphan leaves a process behind whose parent has ended, and returns its number. It ends soon.
func orphan(t *testing.T) int {
	t.Helper()
	out := assert.Must(exec.Command("sh", "-c", "sleep 0.01 >/dev/null & echo $!").Output())(t)
	return assert.Must(strconv.Atoi(strings.TrimSpace(string(out))))(t)
}

func TestOrphans_Reap(t *testing.T) {
	adopt(t)
	o := NewOrphans()
	own := exec.Command("sh", "-c", "exit 7")
	assert.NoError(t, o.Start(own))
	var left []int
	for range 5 {
		left = append(left, orphan(t))
	}
	reaped := 0 // with what earlier tests may have left
	assert.Eventually(t, "the orphans are reaped", func() bool {
		n, _ := o.Reap()
		reaped += n
		return !slices.ContainsFunc(left, func(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH })
	})
	assert.True(t, reaped >= len(left), "%d are reaped, it says, of %d, want at least %d", reaped, len(left), len(left))
	assert.Eventually(t, "our own has ended", func() bool { return statOf(own.Process.Pid)[0] == "Z" })
	n, _ := o.Reap()
	assert.True(t, n == 0, "%d of our own were reaped, want 0", n)
	if err := own.Wait(); own.ProcessState == nil || own.ProcessState.ExitCode() != 7 {
		t.Errorf("the exit status is %v, %v, want 7", own.ProcessState, err)
	}
	o.Waited(own.Process.Pid)
}

// TestOrphans_ReapWhileWorkersComeAndGo: no exit of a worker's is ever stolen, and no orphan left.
func TestOrphans_ReapWhileWorkersComeAndGo(t *testing.T) {
	adopt(t)
	o := NewOrphans()
	stop := make(chan struct{})
	var reaper sync.WaitGroup
	reaper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				o.Reap()
			}
		}
	})
	var starters sync.WaitGroup
	for i := range 4 {
		starters.Go(func() {
			for n := range 25 {
				code := (i*25 + n) % 100
				c := exec.Command("sh", "-c", "(sleep 0.001 &) >/dev/null 2>&1; exit "+strconv.Itoa(code))
				if err := o.Start(c); err != nil {
					t.Error(err)
					return
				}
				_ = c.Wait() // how it ended is in ProcessState
				assert.True(t, c.ProcessState != nil && c.ProcessState.ExitCode() == code,
					"exit code %d came as %v, want the same", code, c.ProcessState)
				o.Waited(c.Process.Pid)
			}
		})
	}
	starters.Wait()
	assert.Eventually(t, "no child is left", func() bool {
		return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
	})
	close(stop)
	reaper.Wait()
	assert.Equal(t, fmt.Sprintf("it still holds %v own", o.own), len(o.own), 0)
}

// TestOrphans_ExitBesideReaper: the exits of workers are classified as without one.
func TestOrphans_ExitBesideReaper(t *testing.T) {
	adopt(t)
	o := NewOrphans()
	s := act(t, "dies-idle 42", func(opts *Options) { opts.Fleet = NewFleet(o) })
	go func() {
		for {
			select {
			case <-s.Done():
				return
			default:
				o.Reap()
			}
		}
	}()
	st := s.end()
	says(t, "the last exit", st.LastExit, "worker exited with code 42")
}

func TestOrphans_Resident(t *testing.T) {
	n := resident(os.Getpid())
	assert.True(t, n >= 1<<20 && n <= 1<<40, "this process has %d bytes, want %d to %d", n, 1<<20, 1<<40)
	assert.Equal(t, "bytes of no process", resident(1<<30), 0)
}
