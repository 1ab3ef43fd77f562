package cli

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/jobqueue/store"
)

// endedView is what 'pinion jobs list --ended' prints.
type endedView struct {
	Jobs []endedJobView `json:"ended"`
}

// endedJobView is a job that has ended, while its end is known.
type endedJobView struct {
	jobView
	EndedAt string `json:"ended_at"`
	Error   string `json:"error,omitempty"`

	ended time.Time
}

// readEnded asks the queue for the jobs that ended last.
func readEnded(ctx context.Context, a *store.Admin, failed bool, limit int) (*endedView, error) {
	jobs, err := a.Ended(ctx, failed, limit)
	if err != nil {
		return nil, err
	}
	v := &endedView{Jobs: []endedJobView{}}
	for i := range jobs {
		j := &jobs[i]
		v.Jobs = append(v.Jobs, endedJobView{
			jobView: *newJobView(j.ID, &j.State, nil), EndedAt: instant(j.Ended), Error: j.Error, ended: j.Ended,
		})
	}
	return v, nil
}

// table prints the jobs, each with the first line of its error.
func (v *endedView) table(w io.Writer, now time.Time) error {
	t := newTable(w)
	t.row("ID", "STATUS", "ENDED", "ATTEMPT", "SERVER", "ERROR")
	for _, j := range v.Jobs {
		line, _, _ := strings.Cut(j.Error, "\n")
		t.row(safe(j.ID), j.Status, age(now, j.ended), strconv.Itoa(j.Attempt), safe(j.Server), safe(line))
	}
	return t.Flush()
}
