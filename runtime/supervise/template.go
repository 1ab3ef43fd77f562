package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// Template is a process that has imported the model's modules, and from which workers are forked: a new worker has
// them at once. Where there is none, because it was refused, has died or is still importing, workers are started
// as ever.
//
// The front must be a "child subreaper" (prctl), and have Orphans: a forked worker becomes its child by that.
// A nil *Template is one that is never there.
type Template struct {
	o TemplateOptions

	renewing sync.Mutex // held while one is being replaced

	mu      sync.Mutex
	closed  bool
	current *mother // nil: none
	coming  *mother // the one that imports the model at this moment, or nil
	status  TemplateStatus
	back    backoff
	settled chan struct{} // closed when it is known of the first whether workers can be forked
}

// TemplateOptions are those of a template.
type TemplateOptions struct {
	Exe     string
	Spec    Spec     // of its workers
	Env     []string // of its workers, without what each has of its own
	Timeout time.Duration
	Orphans *Orphans
	Logger  *slog.Logger
	// Prepare is called before each start, as a supervisor's.
	Prepare func(*Spec) error
	// OnChange is called after each change of Status.
	OnChange func()
}

// The states of a template.
const (
	TemplateImporting = "importing"
	TemplateReady     = "ready"
	TemplateRefused   = "refused" // and why is in Reason
	TemplateGone      = "gone"    // it died; another is on its way, or none, after too many deaths
)

// TemplateStatus is what health says of a template.
type TemplateStatus struct {
	State  string
	PID    int
	Reason string // it was refused, or died, for
	Forked int    // workers, ever
}

// NewTemplate makes a template; Start begins its work.
func NewTemplate(o TemplateOptions) *Template {
	return &Template{o: o, settled: make(chan struct{}), status: TemplateStatus{State: TemplateImporting}}
}

// Status is a copy of the current status.
func (t *Template) Status() TemplateStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// Start has the modules imported, and returns at once.
func (t *Template) Start() {
	go func() {
		t.Renew(t.o.Spec, t.o.Env)
		close(t.settled)
	}()
}

// Renew has the modules imported anew, and returns when workers can be forked of it or it is known why not. Until then
// they are forked of the template that was there before.
func (t *Template) Renew(spec Spec, env []string) {
	t.renewing.Lock()
	defer t.renewing.Unlock()
	t.mu.Lock()
	t.o.Spec, t.o.Env = spec, env
	old := t.current
	t.mu.Unlock()
	next, err := t.bear(spec, env)
	t.mu.Lock()
	t.coming = nil
	if t.closed {
		t.mu.Unlock()
		next.end()
		return
	}
	if t.current = next; err == nil {
		t.status.State, t.status.PID, t.status.Reason = TemplateReady, next.pid, ""
	} else {
		t.status.State, t.status.PID, t.status.Reason = TemplateRefused, 0, err.Error()
	}
	t.mu.Unlock()
	old.end()
	t.o.OnChange()
	if err != nil {
		t.o.Logger.Warn("no template: workers are started one by one, and each imports the model", "reason", err)
		return
	}
	t.o.Logger.Info("template ready", "pid", next.pid, "import_seconds", next.took.Seconds())
	go t.watch(next)
}

// bear starts a process and waits until it has imported the model. nil with an error where no worker can be forked of it.
func (t *Template) bear(spec Spec, env []string) (*mother, error) {
	if t.o.Prepare != nil {
		if err := t.o.Prepare(&spec); err != nil {
			return nil, err
		}
	}
	m, err := startMother(t.o.Exe, spec, env, t.o.Orphans, t.note)
	if err != nil {
		return nil, err
	}
	var late <-chan time.Time
	if t.o.Timeout > 0 {
		late = time.After(t.o.Timeout)
	}
	t.mu.Lock()
	t.coming = m // so that Close finds it
	closed := t.closed
	t.mu.Unlock()
	if closed {
		m.end()
	}
	select {
	case err = <-m.ready:
	case <-late:
		err = fmt.Errorf("its import was not done after %s", t.o.Timeout)
	}
	if err != nil {
		m.end()
		return nil, err
	}
	return m, nil
}

// watch has another follow a template that dies.
func (t *Template) watch(m *mother) {
	select {
	case <-m.exited:
	case <-m.gaveUp:
	}
	t.mu.Lock()
	if t.closed || t.current != m {
		t.mu.Unlock()
		return
	}
	cause := m.cause("after the import")
	t.current = nil
	t.status.State, t.status.PID, t.status.Reason = TemplateGone, 0, cause
	delay, again := t.back.died(time.Now(), m.forked())
	spec, env := t.o.Spec, t.o.Env
	t.mu.Unlock()
	m.end()
	t.o.OnChange()
	t.o.Logger.Error("the template has ended: workers are started one by one", "cause", cause, "another", again)
	if again {
		time.AfterFunc(delay, func() { t.follow(spec, env) })
	}
}

// follow is Renew, unless there is a template again.
func (t *Template) follow(spec Spec, env []string) {
	t.mu.Lock()
	needed := !t.closed && t.current == nil && t.status.State == TemplateGone
	t.mu.Unlock()
	if needed {
		t.Renew(spec, env)
	}
}

// await waits until the first template is settled; false: stop or kill came first.
func (t *Template) await(stop, kill <-chan struct{}) bool {
	if t == nil {
		return true
	}
	select {
	case <-t.settled:
		return true
	case <-stop:
	case <-kill:
	}
	return false
}

// Close ends the template.
func (t *Template) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	current, coming := t.current, t.coming
	t.mu.Unlock()
	current.endWithin(lastPatience)
	coming.endWithin(lastPatience)
}

// fork forks a worker; false where it is to be started as ever.
func (t *Template) fork(spec Spec, env []string, handles [handles]*os.File) (pid int, ok bool) {
	if t == nil {
		return 0, false
	}
	t.mu.Lock()
	m := t.current
	ready := t.status.State == TemplateReady && m != nil && m.fits(spec)
	t.mu.Unlock()
	if !ready {
		return 0, false
	}
	pid, err := t.o.Orphans.adopt(func() (int, error) { return m.fork(spec, env, handles) })
	if err != nil {
		t.o.Logger.Warn("no worker could be forked: it is started as ever", "error", err)
		if !errors.Is(err, errNotForked) {
			m.end() // it may be stuck; another follows
		}
		return 0, false
	}
	t.mu.Lock()
	t.status.Forked++
	t.mu.Unlock()
	return pid, true
}

// note writes a line that the model's modules wrote while they were imported to the server's log.
func (t *Template) note(stream source, line []byte) {
	t.o.Logger.Info(string(line), "template", true, "stream", sourceNames[stream])
}

// forkRequest is the body of a Fork frame.
type forkRequest struct {
	Spec Spec               `json:"spec"`
	Env  map[string]*string `json:"env"` // what differs from the template's own; null: not set
}

// differences is what makes one environment another; of two entries of a name the last counts.
func differences(from, to []string) map[string]*string {
	old, now := variables(from), variables(to)
	diff := make(map[string]*string)
	for name, value := range now {
		if was, set := old[name]; !set || was != value {
			diff[name] = &value
		}
	}
	for name := range old {
		if _, set := now[name]; !set {
			diff[name] = nil
		}
	}
	return diff
}

func variables(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}

// encode is the body of a request.
func (r forkRequest) encode() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode fork request: %w", err)
	}
	return body, nil
}
