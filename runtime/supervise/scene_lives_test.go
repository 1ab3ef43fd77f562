package supervise

import (
	"fmt"
	"os"
	"strings"

	"pinion/ipc"
)

// lives is a worker that answers with its generation, which a file counts, and what it was asked. Its argument
// has it misbehave: "fails=N" in the setup of generation N, "ignores-pings": it does not answer on its control channel,
// "blind=N": generation N reads no slot, "crashes=N": generation N ends with code 3 once it is ready.
func (a *actor) lives() {
	generation := a.born()
	a.begin(1)
	if strings.Contains(a.arg+" ", fmt.Sprintf("fails=%d ", generation)) {
		a.send(ControlFD, ipc.KindSetupFailed, 0, `{"error":"ValueError: it fails today","stdout":0,"stderr":0}`)
		return
	}
	slots := a.becomeReady(1)
	if strings.Contains(a.arg+" ", fmt.Sprintf("crashes=%d ", generation)) {
		os.Exit(3)
	}
	go a.attend()
	var grown []byte
	requests := &actor{mem: a.mem}
	if strings.Contains(a.arg+" ", fmt.Sprintf("blind=%d ", generation)) {
		select {}
	}
	for {
		id, body := requests.request(slots[0])
		if !a.claim(0, id) {
			continue
		}
		if strings.Contains(body, "grow") {
			grown = make([]byte, 128<<20)
			for i := 0; i < len(grown); i += 4096 {
				grown[i] = 1
			}
		}
		a.word(0, 0).Store(0)
		kind, answer := ipc.KindSucceeded, fmt.Sprintf(`{"metrics":{},"output":"%d"}`, generation)
		if strings.Contains(body, "illegal") {
			kind, answer = ipc.KindFailed,
				`{"metrics":{},"error":"RuntimeError: CUDA error: an illegal memory access was encountered"}`
		}
		a.send(slots[0], kind, id, answer)
	}
}

// born counts the processes of a folder.
func (a *actor) born() int {
	f, err := os.OpenFile("born", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(".")
	}
	info, statErr := f.Stat()
	if err != nil || statErr != nil {
		os.Exit(94)
	}
	f.Close()
	return int(info.Size())
}

// attend reads the control channel, as the worker's control thread does.
func (a *actor) attend() {
	control := &actor{mem: a.mem}
	for {
		switch kind, id, _ := control.read(ControlFD); kind {
		case ipc.KindPing:
			if !strings.Contains(a.arg, "ignores-pings") {
				a.send(ControlFD, ipc.KindPong, id, "")
			}
		case ipc.KindShutdown:
			os.Exit(0)
		}
	}
}
