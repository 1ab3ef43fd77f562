package fakeworker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/supervise"
)

// Main makes this process a worker if a supervisor has started it as one, and does not return then. TestMain calls it:
// so the test binary is the worker of its tests.
func Main() {
	config, ok := os.LookupEnv(supervise.EnvName)
	if !ok {
		return
	}
	spec, err := ipc.ParseWorkerConfig([]byte(config))
	if err != nil {
		os.Exit(1)
	}
	_, what, named := strings.Cut(spec.Ref, ":")
	if !named {
		what = spec.Ref
	}
	(&worker{}).main(what)
	os.Exit(0)
}

// Document is the OpenAPI document of its model.
const Document = `{"openapi":"3.0.2","components":{"schemas":{"Input":{"type":"object","required":["s"],"properties":{` +
	`"s":{"type":"string","title":"S"},"image":{"type":"string","format":"uri","title":"Image"}}}}}}`

// worker is the far side, as small as it can be.
type worker struct {
	mem []byte
	buf []byte
	fds []int
}

func (w *worker) main(what string) {
	var err error
	if w.mem, err = unix.Mmap(supervise.PageFD, 0, ipc.PageSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED); err != nil {
		os.Exit(99)
	}
	w.send(supervise.ControlFD, ipc.KindHello, 0, `{"protocol":1,"python":"3.13.0"}`)
	w.send(supervise.ControlFD, ipc.KindLoaded, 0, `{"cog":"0.23.0","slots":1,"schema":`+Document+`}`)
	switch what {
	case "fails":
		w.send(supervise.ControlFD, ipc.KindSetupFailed, 0, `{"error":"ValueError: no weights","stdout":0,"stderr":0}`)
		return
	case "hangs":
		w.rest()
	case "good-once":
		if f, err := os.OpenFile("born", os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			w.rest()
		} else {
			f.Close()
		}
	}
	w.send(supervise.ControlFD, ipc.KindReady, 0, `{"seconds":0.1,"stdout":0,"stderr":0}`)
	for len(w.fds) == 0 {
		w.read(supervise.ControlFD)
	}
	go func() { // nothing can come now but the end, or the wish for it
		for {
			if _, err := unix.Read(supervise.ControlFD, make([]byte, 100)); err != unix.EINTR {
				os.Exit(0)
			}
		}
	}()
	w.serve(w.fds[0])
}

// serve does what each input says: it dies, never ends, waits for its cancel, fails, answers rubbish, or echoes.
func (w *worker) serve(fd int) {
	for {
		id, body := w.read(fd)
		if !w.claim(id) {
			continue
		}
		kind, answer := ipc.KindSucceeded, `{"metrics":{"predict_time":0.5},"output":`+body+`}`
		switch {
		case strings.Contains(body, "die"):
			os.Exit(3)
		case strings.Contains(body, "forever"):
			_ = os.WriteFile("begun", nil, 0o600)
			for w.word(64).Load() != id {
				time.Sleep(time.Millisecond)
			}
			kind, answer = ipc.KindCanceled, `{"metrics":{"predict_time":0.5}}`
		case strings.Contains(body, "fail"):
			kind, answer = ipc.KindFailed, `{"metrics":{"predict_time":0.5},"error":"ValueError: \"no\""}`
		case strings.Contains(body, "rubbish"):
			answer = `{"metrics":`
		case strings.Contains(body, "large"):
			w.sendFile(fd, id, `{"metrics":{"predict_time":0.5},"output":"`+strings.Repeat("x", ipc.InlineMax)+`"}`)
			continue
		}
		w.word(0).Store(0)
		w.send(fd, kind, id, answer)
	}
}

func (w *worker) rest() {
	for front := os.Getppid(); os.Getppid() == front; {
		time.Sleep(100 * time.Millisecond)
	}
}

func (w *worker) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&w.mem[4096+at]))
}

func (w *worker) claim(id uint64) bool {
	w.word(0).Store(id)
	return w.word(128+8*ipc.ClaimIndex(id)).CompareAndSwap(id<<2|1, id<<2|2)
}

func (w *worker) read(fd int) (id uint64, body string) {
	for {
		if len(w.buf) >= ipc.HeaderSize {
			if end := ipc.HeaderSize + int(binary.LittleEndian.Uint32(w.buf)); len(w.buf) >= end {
				id, body = binary.LittleEndian.Uint64(w.buf[8:]), string(w.buf[ipc.HeaderSize:end])
				w.buf = w.buf[end:]
				return id, body
			}
		}
		piece, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4*8))
		n, oobn, _, _, err := unix.Recvmsg(fd, piece, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			os.Exit(0)
		}
		w.buf = append(w.buf, piece[:n]...)
		messages, _ := unix.ParseSocketControlMessage(oob[:oobn])
		for i := range messages {
			fds, _ := unix.ParseUnixRights(&messages[i])
			w.fds = append(w.fds, fds...)
		}
	}
}

func (w *worker) send(fd int, kind ipc.Kind, id uint64, body string) {
	b := append(ipc.AppendHeader(nil, kind, 0, id, 500_000_000, len(body)), body...)
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil && !errors.Is(err, unix.EINTR) {
			os.Exit(98)
		}
		b = b[max(n, 0):]
	}
}

func (w *worker) sendFile(fd int, id uint64, body string) {
	file, err := unix.MemfdCreate("body", unix.MFD_CLOEXEC)
	if err != nil {
		os.Exit(97)
	}
	for rest := []byte(body); len(rest) > 0; {
		n, err := unix.Write(file, rest)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(96)
		}
		rest = rest[n:]
	}
	head := ipc.AppendHeader(nil, ipc.KindSucceeded, ipc.FlagFile, id, 500_000_000, 0)
	if _, err := unix.SendmsgN(fd, head, unix.UnixRights(file), nil, 0); err != nil {
		os.Exit(95)
	}
	unix.Close(file)
}
