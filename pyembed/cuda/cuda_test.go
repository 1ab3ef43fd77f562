//go:build pinion_test

package cuda

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing")

// The driver's state is one per process, so each case runs in its own process:
// this test program, with the case in its environment.
const caseVar = "PINION_CUDA_TEST_CASE"

// childCase is what a child is to do.
type childCase struct {
	Library   string
	Node      string
	HangAfter time.Duration
	Disabled  bool
	Twice     bool // start again
}

// childAnswer is what it found.
type childAnswer struct {
	Report    Report
	Start     string // errors, as text
	Again     string
	Wait      string
	IsStarted bool
	HasFunc   bool
}

func TestMain(m *testing.M) {
	if text := os.Getenv(caseVar); text != "" {
		os.Exit(child(text))
	}
	os.Exit(m.Run())
}

func child(text string) int {
	var c childCase
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	say := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	var a childAnswer
	a.Start = say(Start(Options{Library: c.Library, HangAfter: c.HangAfter, Disabled: c.Disabled, deviceNode: c.Node}))
	if c.Twice {
		err := Start(Options{Library: c.Library})
		a.Again, a.IsStarted = say(err), errors.Is(err, ErrStarted)
	}
	report, err := readJSON()
	a.Report, a.Wait = report, say(err)
	a.HasFunc = ReportFunc() != nil
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// inChild runs a case with the fake driver in the given mode.
func inChild(t *testing.T, mode string, c childCase, env ...string) childAnswer {
	t.Helper()
	text := assert.Must(json.Marshal(c))(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "CUDA_") })
	cmd.Env = append(cmd.Env, caseVar+"="+string(text), "FAKECUDA="+mode, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child: got %v, want no error\n%s", err, stderr.String())
	}
	var a childAnswer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("child wrote %q: got %v, want no error", out, err)
	}
	return a
}

// TestCUDA_Reports has a golden file for every report that a worker can make.
func TestCUDA_Reports(t *testing.T) {
	driver := fakeDriver(t)
	old := fakeDriver(t, "-DWITHOUT_RETAIN")
	node := filepath.Join(t.TempDir(), "nvidiactl")
	assert.NoError(t, os.WriteFile(node, nil, 0o600))
	const none = "/nonexistent/libcuda.so.1"
	for _, c := range []struct {
		name  string
		mode  string
		run   childCase
		env   []string
		state State
	}{
		{"ready", "ok", childCase{Library: driver}, nil, Ready},
		{"ready_mig", "mig", childCase{Library: driver}, nil, Ready},
		{"ready_odd", "odd", childCase{Library: driver}, nil, Ready},
		{"off", "ok", childCase{Library: driver, Disabled: true}, nil, Off},
		{"absent", "ok", childCase{Library: none}, nil, Absent},
		{"absent_with_gpu", "ok", childCase{Library: none, Node: node}, nil, Absent},
		{"no_device", "init=100", childCase{Library: driver}, nil, NoDevice},
		{"no_device_hidden", "init=100", childCase{Library: driver}, []string{"CUDA_VISIBLE_DEVICES="}, NoDevice},
		{"no_device_counted", "zero", childCase{Library: driver}, nil, NoDevice},
		{"driver_too_old", "init=803", childCase{Library: driver}, nil, DriverTooOld},
		{"driver_without_function", "ok", childCase{Library: old}, nil, DriverTooOld},
		{"insufficient", "init=35", childCase{Library: driver}, nil, DriverTooOld},
		{"not_ready", "init=802", childCase{Library: driver}, nil, Failed},
		{"unknown", "init=999", childCase{Library: driver}, nil, Failed},
		{"unlisted", "init=12345", childCase{Library: driver}, nil, Failed},
		{"count", "count=999", childCase{Library: driver}, nil, Failed},
		{"context_memory", "context=2", childCase{Library: driver}, nil, Failed},
		{"context_busy", "context=46", childCase{Library: driver}, nil, Failed},
		{"context_push", "push=999", childCase{Library: driver}, nil, Failed},
		{"context_meminfo", "meminfo=999", childCase{Library: driver}, nil, Failed},
		{"hanging", "hang", childCase{Library: driver, HangAfter: 100 * time.Millisecond}, nil, Hanging},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := inChild(t, c.mode, c.run, c.env...)
			if a.Start != "" || a.Wait != "" || !a.HasFunc {
				t.Errorf("start %q, wait %q, func %v, want none, none and true", a.Start, a.Wait, a.HasFunc)
			}
			assert.Equal(t, "state", a.Report.State, c.state)
			if c.state == Ready && (a.Report.Seconds <= 0 || a.Report.Error != "" || a.Report.Fix != "") {
				t.Errorf("ready with %v s, %q, %q, want more than 0, none and none", a.Report.Seconds, a.Report.Error, a.Report.Fix)
			}
			golden(t, c.name, a.Report, map[string]string{driver: "DRIVER", old: "DRIVER"})
		})
	}
}

// golden compares a report without its times and temporary paths.
func golden(t *testing.T, name string, r Report, replace map[string]string) {
	t.Helper()
	r.Seconds, r.Steps = 0, Steps{}
	if r.State == Hanging {
		r.Error = strings.NewReplacer(" 0 s", " N s", " 1 s", " N s", " 2 s", " N s").Replace(r.Error)
	}
	text := assert.Must(json.MarshalIndent(r, "", "  "))(t)
	got := string(text) + "\n"
	for from, to := range replace {
		got = strings.ReplaceAll(got, from, to)
	}
	path := filepath.Join("testdata/golden", name+".json")
	if *update {
		assert.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want := assert.Must(os.ReadFile(path))(t)
	assert.Equal(t, "report of "+path, got, string(want))
}

func TestCuda_StartTwice(t *testing.T) {
	a := inChild(t, "ok", childCase{Library: fakeDriver(t), Twice: true})
	if a.Start != "" || !a.IsStarted || a.Report.State != Ready {
		t.Errorf("got %+v, want Start empty, IsStarted true and State ready", a)
	}
}

func TestCuda_BadOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"negative":  {HangAfter: -time.Second},
		"too short": {HangAfter: time.Microsecond},
		"too long":  {HangAfter: 1 << 62},
		"library":   {Library: strings.Repeat("x", 5000)},
	} {
		assert.ErrorIs(t, name, Start(o), ErrOptions)
	}
	if report, err := readJSON(); err != nil || report.State != Off {
		t.Errorf("got %+v, %v, want State off", report, err)
	}
}

// TestCuda_RealDriver runs the libcuda of this machine, or none: the state must be
// one of the final ones, and with a GPU it must be ready.
func TestCuda_RealDriver(t *testing.T) {
	a := inChild(t, "", childCase{})
	t.Logf("%+v", a.Report)
	if got := []State{Ready, Absent, NoDevice, DriverTooOld, Failed, Hanging}; !slices.Contains(got, a.Report.State) {
		t.Errorf("got %+v: got %.300q, want %q among them", a.Report, got, a.Report.State)
	}
	if a.Report.State == Ready && (len(a.Report.Devices) == 0 || a.Report.Devices[0].MemoryFreeBytes == 0) {
		t.Errorf("ready without a device: %+v, want len(Devices) non-empty and MemoryFreeBytes not 0", a.Report)
	}
}

// cTest compiles testdata/ctest.c with a sanitizer and returns a runner of its cases.
func cTest(t *testing.T, sanitizer string) func(t *testing.T, name, mode, driver string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ctest")
	sources := assert.Must(filepath.Glob("px_cuda*.c"))(t)
	args := append(sources, "testdata/ctest.c", "-ldl", "-lpthread")
	if sanitizer != "" {
		args = append(args, "-fsanitize="+sanitizer, "-fno-sanitize-recover=all")
	}
	compile(t, program, args...)
	return func(t *testing.T, name, mode, driver string) string {
		t.Helper()
		cmd := exec.Command(program, name, driver)
		cmd.Env = append(os.Environ(), "FAKECUDA="+mode, "TSAN_OPTIONS=atexit_sleep_ms=0")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: got %v, want no error\n%s%s", name, err, out, stderr.String())
		}
		return string(out)
	}
}

// TestCUDA_CCode runs the cases of testdata/ctest.c under each sanitizer.
func TestCUDA_CCode(t *testing.T) {
	for _, sanitizer := range []string{"address,undefined", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			run := cTest(t, sanitizer)
			driver := fakeDriver(t)
			fifo := func(t *testing.T) string {
				path := filepath.Join(t.TempDir(), "fifo")
				assert.NoError(t, syscall.Mkfifo(path, 0o600))
				return path
			}
			for _, c := range []struct{ name, mode string }{
				{"off", "ok"},
				{"options", "ok"},
				{"buffer", "ok"},
				{"buffer", "init=803"},
				{"locale", "ok"},
				{"context", "ok"},
				{"context", "context=2"},
				{"context", "push=999"},
				{"context", "meminfo=999"},
				{"signals", "hang"},
				{"exit", "hang"},
				{"gate", "gate="},
				{"late", "gate="},
				{"fork_after", "ok"},
				{"fork_while_hanging", "hang"},
				{"fork_while_loading", "loadgate="},
				{"fork_before", "ok"},
			} {
				t.Run(c.name+" "+c.mode, func(t *testing.T) {
					mode := c.mode
					if strings.HasSuffix(mode, "gate=") {
						mode += fifo(t)
					}
					run(t, c.name, mode, driver)
				})
			}
		})
	}
}

// TestCUDA_Moves compares C's table of moves, every pair of states, with what this
// package says of the states.
func TestCUDA_Moves(t *testing.T) {
	var want strings.Builder
	fmt.Fprintf(&want, "%s %s\n", Off, Starting)
	for _, final := range []State{Absent, NoDevice, DriverTooOld, Failed, Ready} {
		fmt.Fprintf(&want, "%s %s\n", Starting, final)
	}
	assert.Equal(t, "moves", cTest(t, "")(t, "moves", "", ""), want.String())
}
