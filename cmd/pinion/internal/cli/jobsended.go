package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/jobqueue/store/admin"
)

// endedView is what 'pinion jobs list --ended' prints.
type endedView struct {
	Jobs []endedJobView `json:"ended"`

	what string // ended or failed
}

// endedJobView is a job that has ended, while its end is known.
type endedJobView struct {
	jobView
	EndedAt string `json:"ended_at"`
	Error   string `json:"error,omitempty"`

	ended time.Time
}

// readEnded asks the queue for the jobs that ended last.
func readEnded(ctx context.Context, a *admin.Admin, failed bool, limit int) (*endedView, error) {
	jobs, err := a.Ended(ctx, failed, limit)
	if err != nil {
		return nil, err
	}
	v := &endedView{Jobs: []endedJobView{}, what: "ended"}
	if failed {
		v.what = "failed"
	}
	for i := range jobs {
		j := &jobs[i]
		v.Jobs = append(v.Jobs, endedJobView{
			jobView: *newJobView(j.ID, &j.State, nil), EndedAt: instant(j.Ended), Error: j.Error, ended: j.Ended,
		})
	}
	return v, nil
}

// minErrorWidth is how many characters of an error the narrowest terminal shows.
const minErrorWidth = 40

// table prints the jobs, each with the first line of its error. On a terminal that line ends at the right edge.
func (v *endedView) table(w io.Writer, now time.Time) error {
	if len(v.Jobs) == 0 {
		_, err := fmt.Fprintf(w, "no %s jobs\n", v.what)
		return err
	}
	var text bytes.Buffer
	t := newTable(&text)
	t.row("ID", "STATUS", "ENDED", "ATTEMPT", "SERVER", "ERROR")
	for _, j := range v.Jobs {
		line, _, _ := strings.Cut(j.Error, "\n")
		t.row(safe(j.ID), j.Status, age(now, j.ended), strconv.Itoa(j.Attempt), safe(j.Server), safe(line))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	most := text.Len()
	if columns := terminalColumns(); columns > 0 {
		heading, _, _ := strings.Cut(text.String(), "ERROR")
		most = max(columns, len(heading)+minErrorWidth)
	}
	for line := range strings.Lines(text.String()) {
		if runes := []rune(line); len(runes) > most+1 {
			line = string(runes[:most-1]) + "…\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}
