package supervise

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// TestMain makes the test binary the worker of its tests: the spec's Ref says how it misbehaves.
func TestMain(m *testing.M) {
	if config, ok := os.LookupEnv(EnvName); ok {
		spec, err := ipc.ParseWorkerConfig([]byte(config))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		play(spec) // returns where it is not a scene
		os.Exit(fakeWorker(spec.Ref))
	}
	os.Exit(m.Run())
}

// fakeWorker says what a worker says, up to where mode has it stop. A mode "once NAME" misbehaves in
// the first process only: the file NAME tells the next.
func fakeWorker(mode string) int {
	if rest, ok := strings.CutPrefix(mode, "once "); ok {
		what, file, _ := strings.Cut(rest, " ")
		mode = "serve"
		if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			mode = what
		}
	}
	if file, ok := strings.CutPrefix(mode, "lacks until "); ok {
		mode = "serve"
		if _, err := os.Stat(file); err != nil {
			mode = "lacks"
		}
	}
	control, err := ipc.NewConn(ControlFD, "control")
	if err != nil {
		return 1
	}
	say := func(kind ipc.Kind, body string) { _ = control.Send(kind, 0, []byte(body)) }
	switch mode {
	case "exit":
		return 7
	case "lacks":
		fmt.Fprintln(os.Stderr, "runtime/cgo: pthread_create failed: Resource temporarily unavailable")
		_ = unix.Kill(os.Getpid(), unix.SIGABRT)
		_ = unix.Pause() // the signal ends the process in another thread, at any time
	case "garbage":
		_, _ = unix.Write(ControlFD, []byte(strings.Repeat("rubbish ", 10)))
		return untilClosed(control)
	case "another-version":
		say(ipc.KindHello, `{"protocol":99}`)
		return untilClosed(control)
	}
	say(ipc.KindHello, `{"protocol":1,"pid":1,"python":"3.12.1","executable":"/fake"}`)
	if mode == "greedy" {
		say(ipc.KindLoaded, `{"slots":100000,"schema":{}}`)
		return untilClosed(control)
	}
	say(ipc.KindLoaded, `{"cog":"0","slots":2,"async":true,"schema":{"fake":true}}`)
	fmt.Print("from setup\n")
	switch mode {
	case "hang":
		return untilClosed(control)
	case "fail":
		say(ipc.KindSetupFailed, `{"error":"ValueError: no weights","stdout":11,"stderr":0}`)
		return 0
	case "crash":
		_ = unix.Kill(os.Getpid(), unix.SIGTERM)
		time.Sleep(time.Minute) // never: the signal comes first
	}
	say(ipc.KindReady, `{"seconds":0.5,"stdout":11,"stderr":0}`)
	switch mode {
	case "die":
		// Its slots' socket must have come, or it may be gone before it was ready.
		for slots := 0; slots < 1; {
			if err := control.Recv(func(f *ipc.Frame) {
				if f.Kind == ipc.KindSlot {
					slots++
				}
			}); err != nil {
				return 1
			}
		}
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	case "ignores-shutdown":
		for {
			if err := control.Recv(func(*ipc.Frame) {}); err != nil {
				return 0
			}
		}
	}
	return untilClosed(control)
}

// untilClosed lives until the front asks it to leave, or is gone.
func untilClosed(control *ipc.Conn) int {
	leave := false
	for !leave {
		err := control.Recv(func(f *ipc.Frame) { leave = leave || f.Kind == ipc.KindShutdown })
		if err != nil {
			return 1
		}
	}
	return 0
}
