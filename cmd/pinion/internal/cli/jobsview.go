package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"time"

	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/state"
)

// listView is what 'pinion jobs list' prints.
type listView struct {
	Stored      int          `json:"stored"` // jobs that wait or run
	Dead        int          `json:"dead"`
	Capacity    int64        `json:"capacity"`
	StoredBytes uint64       `json:"stored_bytes"`
	Bytes       int64        `json:"bytes"` // bound of StoredBytes
	Lanes       []laneView   `json:"lanes"`
	Jobs        []jobView    `json:"jobs"`
	Letters     []letterView `json:"dead_letters"`
}

// laneView is the state of a class of a lane, as NATS counts it: jobs that no server has got yet, and jobs that one
// has.
type laneView struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Delivered int    `json:"delivered"`
}

// jobView is a job that waits or runs, or (in showView) has ended.
type jobView struct {
	ID         string `json:"id"`
	Status     string `json:"status"` // waiting, running; or how it ended
	Kind       string `json:"kind"`
	Version    string `json:"version,omitempty"` // of the model, that the job names or that runs it
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

	accepted, deadline time.Time
}

// letterView is a dead letter.
type letterView struct {
	ID       string `json:"id"`
	Reason   string `json:"reason"`
	DiedAt   string `json:"died_at"`
	Attempts int    `json:"attempts"` // that it had
	Bytes    int    `json:"bytes"`

	died time.Time
}

// showView is what 'pinion jobs show' prints. Job is nil where only a dead letter is left.
type showView struct {
	Job        *jobView        `json:"job,omitempty"`
	Letter     *letterView     `json:"dead_letter,omitempty"`
	Prediction json.RawMessage `json:"prediction,omitempty"`
}

// readList asks the queue for the jobs of a class ("" means every one) that are waiting, running or dead ("" means all
// of these), at most limit of jobs and of dead letters; 0 means all.
func readList(ctx context.Context, a *admin.Admin, class state.Class, status string, limit int) (*listView, error) {
	c, err := a.Count(ctx)
	if err != nil {
		return nil, err
	}
	l := &listView{
		Stored: c.Stored, Dead: c.Dead, Capacity: c.Capacity, StoredBytes: c.StoredBytes, Bytes: c.Bytes,
		Lanes: []laneView{}, Jobs: []jobView{}, Letters: []letterView{},
	}
	for _, lane := range c.Lanes {
		l.Lanes = append(l.Lanes, laneView(lane))
	}
	if status != "dead" {
		of := map[string]state.Status{"waiting": state.Starting, "running": state.Processing}[status]
		entries, err := a.Jobs(ctx, class, of, limit)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			l.Jobs = append(l.Jobs, *newJobView(entries[i].ID, &entries[i].State, &entries[i]))
		}
	}
	if status == "dead" || status == "" {
		letters, err := a.Letters(ctx, limit)
		if err != nil {
			return nil, err
		}
		for i := range letters {
			l.Letters = append(l.Letters, *newLetterView(&letters[i]))
		}
	}
	return l, nil
}

// newShowView makes the view of one job. Each of the three may be nil.
func newShowView(id string, s *state.State, e *admin.Entry, l *admin.Letter) *showView {
	show := &showView{}
	if s != nil {
		show.Job, show.Prediction = newJobView(id, s, e), s.Prediction
	}
	if l != nil {
		show.Letter = newLetterView(l)
	}
	return show
}

// jobWords are an operator's words for the states of jobs.
var jobWords = map[state.Status]string{state.Starting: "waiting", state.Processing: "running"}

func newJobView(id string, s *state.State, e *admin.Entry) *jobView {
	j := &jobView{
		ID: id, Kind: string(cmp.Or(s.Kind, state.Prediction)), Attempt: s.Attempt, Lost: s.Lost, Server: s.Server,
		Cancel: s.Cancel, Version: s.ModelVersion,
		Status: cmp.Or(jobWords[s.Status], string(s.Status), "unknown"), // a message whose state is no longer known
	}
	if s.Hook != nil {
		if u, err := url.Parse(s.Hook.URL); err == nil {
			j.Webhook = u.Host
		}
	}
	if s.Deadline != 0 {
		j.deadline = time.UnixMilli(s.Deadline)
		j.Deadline = instant(j.deadline)
	}
	if e != nil {
		j.Class, j.Lane, j.Tenant, j.Bytes, j.accepted = string(e.Class), &e.Lane, e.Tenant, e.Bytes, e.Accepted
		j.AcceptedAt = instant(e.Accepted)
	}
	return j
}

func newLetterView(l *admin.Letter) *letterView {
	return &letterView{
		ID: l.ID, Reason: l.Reason, DiedAt: instant(l.Died), Attempts: l.Attempts, Bytes: l.Bytes,
		died: l.Died,
	}
}

// instant returns a time as RFC 3339 in UTC, or "" for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
