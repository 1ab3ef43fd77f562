package supervise

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// An actor is a worker process that plays a scene: this binary, started by the supervisor under test. It does
// what pyembed does in C, as far as the scene needs it. A scene that returns ends the process with code 0.
type actor struct {
	arg     string
	mem     []byte    // the shared page
	written [2]uint64 // bytes so far, to stdout and stderr
	buf     []byte
	fds     []int
}

// scenes returns the misbehaviours, by the first word of a spec's Ref; the rest is the argument.
func scenes() map[string]func(*actor) {
	return map[string]func(*actor){
		"says":           (*actor).says,
		"silent":         (*actor).rest,
		"dies-in-setup":  (*actor).diesInSetup,
		"dies-idle":      (*actor).diesIdle,
		"good-once":      (*actor).goodOnce,
		"talks":          (*actor).talks,
		"dies-running":   (*actor).diesRunning,
		"closes-slot":    (*actor).closesSlot,
		"closes-control": (*actor).closesControl,
		"leaves-group":   (*actor).leavesGroup,
		"fails-and-lies": (*actor).failsAndLies,
		"leaves-child":   (*actor).leavesChild,
		"writes":         (*actor).writes,
		"echoes":         (*actor).echoes,
		"lives":          (*actor).lives,
	}
}

// play is the process's main function where the spec names a scene.
func play(spec ipc.WorkerConfig) {
	name, arg, _ := strings.Cut(spec.Ref, " ")
	scene, ok := scenes()[name]
	if !ok {
		return
	}
	mem, err := unix.Mmap(PageFD, 0, ipc.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	scene(&actor{arg: arg, mem: mem})
	os.Exit(0)
}

// ---- the scenes ---------------------------------------------------------------

// says sends frames of these kinds, with ordinary bodies, and stays.
func (a *actor) says() {
	for kind := range strings.FieldsSeq(a.arg) {
		n, _ := strconv.Atoi(kind)
		bodies := map[ipc.Kind]string{
			ipc.KindHello:       `{"protocol":1,"python":"3.13.0"}`,
			ipc.KindLoaded:      `{"cog":"0","slots":1,"schema":{}}`,
			ipc.KindReady:       `{"seconds":0,"stdout":0,"stderr":0}`,
			ipc.KindSetupFailed: `{"error":"it is said to fail","stdout":0,"stderr":0}`,
		}
		a.send(ControlFD, ipc.Kind(n), 0, bodies[ipc.Kind(n)])
	}
	a.rest()
}

// rest waits to be killed, or for the end of a test that did not come so far.
func (a *actor) rest() {
	for front := os.Getppid(); os.Getppid() == front; {
		time.Sleep(100 * time.Millisecond)
	}
}

func (a *actor) diesInSetup() {
	a.begin(1)
	a.print(1, "loading\n")
	a.mark(ControlFD, 0)
	a.print(2, "Fatal Python error: in setup\n")
	a.die(a.arg)
}

func (a *actor) diesIdle() {
	a.ready(1)
	a.die(a.arg)
}

// goodOnce dies idle the first time, and in setup ever after.
func (a *actor) goodOnce() {
	if f, err := os.OpenFile("born", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		a.diesIdle()
	}
	a.diesInSetup()
}

// talks says something in a prediction that does not end.
func (a *actor) talks() {
	slots := a.ready(1)
	a.watchControl()
	id, _ := a.request(slots[0])
	a.claim(0, id)
	a.print(1, "still at it\n")
	a.rest()
}

func (a *actor) diesRunning() {
	slots := a.ready(1)
	id, _ := a.request(slots[0])
	a.claim(0, id)
	a.print(2, "Fatal Python error: in predict\n")
	a.die(a.arg)
}

func (a *actor) closesSlot() {
	slots := a.ready(1)
	a.request(slots[0])
	unix.Close(slots[0])
	a.rest()
}

func (a *actor) closesControl() {
	switch a.arg {
	case "setup":
		a.begin(1)
	case "ready":
		a.ready(1)
	}
	unix.Close(ControlFD)
	a.rest()
}

// leavesGroup joins the front's group, where a signal to its own does not reach it.
func (a *actor) leavesGroup() {
	a.begin(1)
	group, err := unix.Getpgid(os.Getppid())
	if err == nil {
		err = unix.Setpgid(0, group)
	}
	if err != nil {
		a.print(2, err.Error())
		os.Exit(98)
	}
	a.print(1, "left\n")
	a.rest()
}

// failsAndLies says that it failed, and then that it is ready, and does not go.
func (a *actor) failsAndLies() {
	a.begin(1)
	a.send(ControlFD, ipc.KindSetupFailed, 0, `{"error":"ValueError: no weights","stdout":0,"stderr":0}`)
	if a.arg == "lies" {
		a.send(ControlFD, ipc.KindReady, 0, `{"seconds":0,"stdout":0,"stderr":0}`)
	}
	a.rest()
}

// leavesChild has a process in a new session inherit all that it has, and dies in a prediction. The child
// ends once the front is gone.
func (a *actor) leavesChild() {
	slots := a.ready(1)
	for _, fd := range append(slots, ControlFD, PageFD) {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
	}
	shell := "sleep 1000"
	if a.arg == "noisy" {
		shell = "while echo it goes on and on; do :; done"
	}
	files := []uintptr{0, 1, 2, ControlFD, PageFD, uintptr(slots[0])}
	attr := &syscall.ProcAttr{Env: []string{"PATH=/bin:/usr/bin"}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", shell}, attr)
	if err != nil {
		a.print(2, err.Error())
		os.Exit(97)
	}
	a.print(1, fmt.Sprintf("child %d\n", pid))
	id, _ := a.request(slots[0])
	a.claim(0, id)
	a.die("KILL")
}

// writes has a setup and predictions that write: both streams, half lines, and what is not UTF-8.
func (a *actor) writes() {
	a.begin(1)
	a.print(1, "one\n")
	a.mark(ControlFD, 0)
	a.print(2, "two\n")
	a.mark(ControlFD, 0)
	a.print(1, "three, \xff\xfe")
	slots := a.becomeReady(1)
	a.watchControl()
	for {
		id, body := a.request(slots[0])
		a.claim(0, id)
		a.print(1, "half of "+body)
		a.mark(slots[0], id)
		a.print(2, "complaint of "+body+"\n")
		a.mark(slots[0], id)
		a.print(1, ", the other half of "+body+"\n")
		a.mark(slots[0], id)
		a.word(0, 0).Store(0)
		a.send(slots[0], ipc.KindSucceeded, id, `{"metrics":{},"output":1}`)
	}
}

// echoes answers with what it was asked, and dies where the argument is in it.
func (a *actor) echoes() {
	slots := a.ready(1)
	a.watchControl()
	for {
		id, body := a.request(slots[0])
		if !a.claim(0, id) {
			continue
		}
		if a.arg != "" && strings.Contains(body, a.arg) {
			a.die("KILL")
		}
		a.word(0, 0).Store(0)
		a.send(slots[0], ipc.KindSucceeded, id, body)
	}
}

// ---- what they are made of ----------------------------------------------------

func (a *actor) begin(slots int) {
	a.send(ControlFD, ipc.KindHello, 0, `{"protocol":1,"python":"3.13.0","executable":"/usr/bin/python3"}`)
	a.send(ControlFD, ipc.KindLoaded, 0, fmt.Sprintf(`{"cog":"0.23.0","slots":%d,"async":false,"schema":{}}`, slots))
}

func (a *actor) ready(slots int) []int {
	a.begin(slots)
	return a.becomeReady(slots)
}

// becomeReady says so, and waits for its slots.
func (a *actor) becomeReady(slots int) (fds []int) {
	a.send(ControlFD, ipc.KindReady, 0, fmt.Sprintf(`{"seconds":0.5,"stdout":%d,"stderr":%d}`, a.written[0], a.written[1]))
	for len(fds) < slots {
		if kind, id, _ := a.read(ControlFD); kind == ipc.KindSlot && id == uint64(len(fds)) {
			fds = append(fds, a.fds[0])
			a.fds = a.fds[1:]
		}
	}
	return fds
}

// watchControl ends the process when the front has exited or asks it to leave; no other message comes once it has its
// slots.
func (a *actor) watchControl() {
	go func() {
		for {
			if _, err := unix.Read(ControlFD, make([]byte, 100)); err != unix.EINTR {
				os.Exit(0)
			}
		}
	}()
}

// request reads the next request of a slot; the process ends where the front has closed it.
func (a *actor) request(fd int) (id uint64, body string) {
	for {
		if kind, id, body := a.read(fd); kind == ipc.KindPredict {
			return id, body
		}
	}
}

// read reads one frame.
func (a *actor) read(fd int) (kind ipc.Kind, id uint64, body string) {
	for {
		if len(a.buf) >= ipc.HeaderSize {
			if end := ipc.HeaderSize + int(binary.LittleEndian.Uint32(a.buf)); len(a.buf) >= end {
				kind, id = ipc.Kind(a.buf[4]), binary.LittleEndian.Uint64(a.buf[8:])
				body = string(a.buf[ipc.HeaderSize:end])
				a.buf = a.buf[end:]
				return kind, id, body
			}
		}
		piece, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*8))
		n, oobn, _, _, err := unix.Recvmsg(fd, piece, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			os.Exit(0) // the front has closed it
		}
		a.buf = append(a.buf, piece[:n]...)
		messages, _ := unix.ParseSocketControlMessage(oob[:oobn])
		for i := range messages {
			fds, _ := unix.ParseUnixRights(&messages[i])
			a.fds = append(a.fds, fds...)
		}
	}
}

func (a *actor) send(fd int, kind ipc.Kind, id uint64, body string) {
	a.write(fd, string(ipc.AppendHeader(nil, kind, 0, id, 1000, len(body)))+body)
}

func (a *actor) write(fd int, text string) {
	for len(text) > 0 {
		n, err := unix.Write(fd, []byte(text))
		if err != nil && !errors.Is(err, unix.EINTR) {
			os.Exit(96)
		}
		text = text[max(n, 0):]
	}
}

// print writes to descriptor 1 or 2.
func (a *actor) print(fd int, text string) {
	a.write(fd, text)
	a.written[fd-1] += uint64(len(text))
}

// mark says how far it has written.
func (a *actor) mark(fd int, id uint64) {
	a.send(fd, ipc.KindLogMark, id, fmt.Sprintf(`{"stdout":%d,"stderr":%d}`, a.written[0], a.written[1]))
}

// word returns a word of a slot in the shared page; ipc/PROTOCOL.md draws it.
func (a *actor) word(slot, at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&a.mem[4096+1024*slot+at]))
}

func (a *actor) claim(slot int, id uint64) bool {
	a.word(slot, 0).Store(id)
	if a.word(slot, 128+8*ipc.ClaimIndex(id)).CompareAndSwap(id<<2|1, id<<2|2) {
		return true
	}
	a.word(slot, 0).Store(0)
	return false
}

// die ends the process by the signal of that name, or with that exit code. A shell takes its place to do so:
// Go has its own handlers.
func (a *actor) die(how string) {
	if code, err := strconv.Atoi(how); err == nil {
		os.Exit(code)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Exec("/bin/sh", []string{"sh", "-c", "kill -" + how + " $$; sleep 1000"}, []string{"PATH=/bin:/usr/bin"})
	os.Exit(95)
}
