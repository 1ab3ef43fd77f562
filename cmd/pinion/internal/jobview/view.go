package jobview

import (
	"encoding/json"
	"io"
	"net/url"
	"time"

	"pinion/runtime/jobs"
)

// List is what 'pinion jobs list' prints.
type List struct {
	Stored      int      `json:"stored"` // jobs that wait or run
	Dead        int      `json:"dead"`
	Capacity    int64    `json:"capacity"`
	StoredBytes uint64   `json:"stored_bytes"`
	Bytes       int64    `json:"bytes"` // bound of StoredBytes
	Lanes       []Lane   `json:"lanes"`
	Jobs        []Job    `json:"jobs"`
	Letters     []Letter `json:"dead_letters"`
}

// Lane is how a class of a lane stands, as NATS counts it: jobs that no server has got yet, and jobs that one has.
type Lane struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Delivered int    `json:"delivered"`
}

// Job is a job that waits or runs, or (in Show) has ended.
type Job struct {
	ID         string `json:"id"`
	Status     string `json:"status"` // waiting, running; or how it ended
	Kind       string `json:"kind"`
	Class      string `json:"class,omitempty"`
	Lane       *int   `json:"lane,omitempty"`
	Tenant     string `json:"tenant,omitempty"`
	AcceptedAt string `json:"accepted_at,omitempty"`
	Deadline   string `json:"deadline,omitempty"`
	Bytes      int    `json:"bytes,omitempty"`
	Attempt    int    `json:"attempt"`
	Lost       int    `json:"lost"` // attempts whose server was lost
	Server     string `json:"server,omitempty"`
	Cancel     bool   `json:"cancel_requested,omitempty"`
	Webhook    string `json:"webhook_host,omitempty"`

	accepted time.Time
}

// Letter is a dead letter.
type Letter struct {
	ID       string `json:"id"`
	Reason   string `json:"reason"`
	DiedAt   string `json:"died_at"`
	Attempts int    `json:"attempts"` // that it had
	Bytes    int    `json:"bytes"`

	died time.Time
}

// Show is what 'pinion jobs show' prints. Job is nil where only a dead letter is left.
type Show struct {
	Job        *Job            `json:"job,omitempty"`
	Letter     *Letter         `json:"dead_letter,omitempty"`
	Prediction json.RawMessage `json:"prediction,omitempty"`
}

// NewList makes a list.
func NewList(c jobs.Counts, entries []jobs.Entry, letters []jobs.Letter) *List {
	l := &List{
		Stored: c.Stored, Dead: c.Dead, Capacity: c.Capacity, StoredBytes: c.StoredBytes, Bytes: c.Bytes,
		Lanes: []Lane{}, Jobs: []Job{}, Letters: []Letter{},
	}
	for _, lane := range c.Lanes {
		l.Lanes = append(l.Lanes, Lane(lane))
	}
	for i := range entries {
		l.Jobs = append(l.Jobs, *newJob(entries[i].ID, &entries[i].State, &entries[i]))
	}
	for i := range letters {
		l.Letters = append(l.Letters, *newLetter(&letters[i]))
	}
	return l
}

// NewShow makes what is told of one job. Each of the three may be nil.
func NewShow(id string, s *jobs.State, e *jobs.Entry, l *jobs.Letter) *Show {
	show := &Show{}
	if s != nil {
		show.Job, show.Prediction = newJob(id, s, e), s.Prediction
	}
	if l != nil {
		show.Letter = newLetter(l)
	}
	return show
}

// words are those of an operator for the states of jobs.
var words = map[jobs.Status]string{jobs.Starting: "waiting", jobs.Processing: "running"}

func newJob(id string, s *jobs.State, e *jobs.Entry) *Job {
	j := &Job{ID: id, Status: words[s.Status], Kind: string(s.Kind), Attempt: s.Attempt, Lost: s.Lost, Server: s.Server, Cancel: s.Cancel}
	if j.Status == "" {
		j.Status = string(s.Status)
	}
	if j.Status == "" { // a message whose state is not known any more
		j.Status = "unknown"
	}
	if j.Kind == "" {
		j.Kind = string(jobs.Prediction)
	}
	if s.Hook != nil {
		if u, err := url.Parse(s.Hook.URL); err == nil {
			j.Webhook = u.Host
		}
	}
	if e != nil {
		j.Class, j.Lane, j.Tenant, j.Bytes, j.accepted = string(e.Class), &e.Lane, e.Tenant, e.Bytes, e.Accepted
		j.AcceptedAt, j.Deadline = instant(e.Accepted), instant(e.Deadline)
	}
	return j
}

func newLetter(l *jobs.Letter) *Letter {
	return &Letter{ID: l.ID, Reason: l.Reason, DiedAt: instant(l.Died), Attempts: l.Attempts, Bytes: l.Bytes, died: l.Died}
}

// instant is a time as RFC 3339 in UTC; "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// JSON prints a value on one line.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
