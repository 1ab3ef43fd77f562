package front

import (
	"bytes"
	"os"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usagehint"
	"pinion/runtime/supervise"
)

// announce tells those who wait for it what became of the first setup: somebody at a terminal; Kubernetes, where it
// runs, by a file; and run, where a failure is to end the server.
func (m *servedModel) announce() {
	kubernetes, wantsUsageHint, failFast := os.Getenv("KUBERNETES_SERVICE_HOST") != "", m.server.s.WantsUsageHint(), m.failsFast()
	if !kubernetes && !wantsUsageHint && !failFast {
		return
	}
	for range m.svc.Changes() {
		if m.pool.Load().Slots == 0 {
			if failFast && m.svc.Health().Status == "SETUP_FAILED" {
				m.server.stop.fail(m)
				return
			}
			continue
		}
		if document, ok := m.svc.OpenAPI(); ok && wantsUsageHint {
			usagehint.Write(m.server.sink, m.server.endpoints.address, document, m.source.found.Mode(m.s.Mode) == "train")
		}
		if kubernetes {
			m.server.writeReadyFile()
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

// failure is why the model cannot be set up, as 'pinion check' says it.
func failure(st supervise.Status) model.Problem {
	if st.Setup.Problem != nil {
		return model.Problem(*st.Setup.Problem)
	}
	return model.Problem{What: st.LastExit, Mend: "what the model printed stands above"}
}

// reportFailure writes why the setup failed, when that ends the server.
func (f *Server) reportFailure(p model.Problem) {
	if !f.s.Log.Console() {
		f.log.Error("setup failed", "file", p.File, "line", p.Line, "error", p.What, "advice", p.Mend, "traceback", p.Traceback)
		return
	}
	var text bytes.Buffer
	text.WriteString("\npinion: the model cannot be set up\n\n")
	switch {
	case p.Traceback == "":
		text.WriteString(p.String() + "\n")
	case p.Mend == "":
		text.WriteString(p.Traceback)
	default:
		text.WriteString(p.Traceback + "    " + p.Mend + "\n")
	}
	_, _ = f.sink.Write(text.Bytes()) // it never fails
}
