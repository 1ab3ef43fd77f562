package server

import (
	"bytes"
	"io"
	"os"
	"time"

	"pinion/cmd/pinion/internal/model"
	"pinion/runtime/health"
)

// announce tells those who wait for it what became of the first setup: a user at a terminal, of the default model;
// Kubernetes, where it runs, by a file; and Run, where a failure is to end the server.
func (m *servedModel) announce() {
	f := m.server
	kubernetes, wantsUsageHint, failFast := os.Getenv("KUBERNETES_SERVICE_HOST") != "",
		f.s.WantsUsageHint() && m == f.models.first(), m.FailsFast()
	quiet := quietSetup{m: m, began: time.Now()}
	var tell <-chan time.Time
	if !drawsDrafts(f.log) {
		ticker := time.NewTicker(quietPause)
		defer ticker.Stop()
		tell = ticker.C
	}
	var draw <-chan time.Time
	if wantsUsageHint && drawsDrafts(f.log) {
		ticker := time.NewTicker(progressPause)
		defer ticker.Stop()
		draw = ticker.C
		f.setupBegan.Store(time.Now().UnixNano())
		defer f.setupBegan.Store(0)
	}
	for {
		select {
		case <-draw:
			m.drawSetup()
			continue
		case <-tell:
			if !quiet.tell() && !kubernetes && !wantsUsageHint && !failFast {
				return
			}
			continue
		case <-m.Service.Changes():
		}
		if kubernetes && f.several && f.models.ready() == nil { // it may be this model's failure that makes it so
			f.readyFile.Do(f.writeReadyFile)
		}
		if m.Pool.Load().Slots == 0 {
			if failFast && m.Service.Health().Status == health.Failed {
				f.stop.fail(m)
				return
			}
			continue
		}
		if document, ok := m.Service.OpenAPI(); ok && wantsUsageHint {
			eraseDraft(f.log, f.sink)
			train := m.of.Found.Mode(m.of.Settings.Mode) == "train"
			writeUsageHint(f.sink, f.endpoints.address, document, train)
			if m.of.Settings.Queue == 0 && !f.s.Jobs.Overflow && !train {
				_, _ = io.WriteString(f.sink, queueHint)
			}
		}
		if kubernetes && !f.several {
			f.writeReadyFile()
		}
		return
	}
}

func (f *Server) writeReadyFile() {
	const dir, file = "/var/run/cog", "/var/run/cog/ready"
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(file, nil, 0o644)
	}
	if err != nil {
		f.log.Warn("readiness file not written", "file", file, "error", err)
	}
}

// reportFailure writes why the setup failed, when that ends the server.
func (m *servedModel) reportFailure(p model.Problem) {
	f, who := m.server, "the model"
	if f.several {
		who = "model " + m.Name
	}
	if !f.s.Log.Console() {
		m.Log.Error("setup failed", "file", p.File, "line", p.Line, "error", p.What, "fix", p.Fix, "traceback",
			p.Traceback)
		return
	}
	var text bytes.Buffer
	eraseDraft(f.log, &text)
	text.WriteString("\npinion: " + who + " cannot be set up\n\n")
	switch {
	case p.Traceback == "":
		text.WriteString(p.String() + "\n")
	case p.Fix == "":
		text.WriteString(p.Traceback)
	default:
		text.WriteString(p.Traceback + "    " + p.Fix + "\n")
	}
	_, _ = f.sink.Write(text.Bytes()) // it never fails
}
