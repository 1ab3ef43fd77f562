package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/state"
)

// table prints the list: its counts, the jobs, the dead letters.
func (l *listView) table(w io.Writer, now time.Time) error {
	if _, err := fmt.Fprintf(w, "jobs: %d of at most %d; dead letters: %d\n", l.Stored, l.Capacity, l.Dead); err != nil {
		return err
	}
	t := newTable(w)
	versions := slices.ContainsFunc(l.Jobs, func(j jobView) bool { return j.Version != "" })
	last := func(cell string) []string {
		if versions {
			return []string{cell}
		}
		return nil
	}
	if len(l.Jobs) > 0 {
		t.row(append([]string{
			"\nID", "STATUS", "CLASS", "TENANT", "ACCEPTED", "ATTEMPT", "SERVER",
		}, last("VERSION")...)...)
	}
	for _, j := range l.Jobs {
		t.row(append([]string{
			safe(j.ID), j.status(now), j.Class, safe(j.Tenant), age(now, j.accepted), strconv.Itoa(j.Attempt), safe(j.Server),
		}, last(safe(j.Version))...)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(l.Letters) > 0 {
		t.row("\nDEAD LETTER", "DIED", "REASON")
	}
	for _, letter := range l.Letters {
		t.row(safe(letter.ID), age(now, letter.died), safe(letter.Reason))
	}
	return t.Flush()
}

// table prints one job.
func (s *showView) table(w io.Writer, now time.Time) error {
	t := newTable(w)
	if j := s.Job; j != nil {
		t.field("id", j.ID)
		t.field("status", j.status(now))
		t.field("kind", j.Kind)
		t.field("version", j.Version)
		t.field("class", j.Class)
		t.field("tenant", j.Tenant)
		t.field("accepted", j.AcceptedAt)
		t.field("deadline", j.Deadline)
		t.field("attempt", strconv.Itoa(j.Attempt))
		t.field("lost servers", strconv.Itoa(j.Lost))
		t.field("server", j.Server)
		t.field("webhook", j.Webhook)
		t.field("prediction", string(s.Prediction))
	}
	if l := s.Letter; l != nil {
		t.field("dead letter", l.ID)
		t.field("died", l.DiedAt)
		t.field("reason", l.Reason)
	}
	return t.Flush()
}

// printChanges prints what 'pinion jobs apply' has changed.
func printChanges(w io.Writer, changes []admin.Change) error {
	if len(changes) == 0 {
		_, err := fmt.Fprintln(w, "nothing to change")
		return err
	}
	t := newTable(w)
	t.row("WHAT", "FIELD", "BEFORE", "AFTER")
	for _, c := range changes {
		t.row(c.What, c.Field, c.Before, c.After)
	}
	return t.Flush()
}

// status returns a job's state, and whether it is about to end: a client has canceled it, or its deadline has passed.
func (j *jobView) status(now time.Time) string {
	switch {
	case j.Cancel && j.Status == jobWords[state.Processing]:
		return j.Status + ", to be canceled"
	case j.Status == jobWords[state.Starting] && !j.deadline.IsZero() && now.After(j.deadline):
		return j.Status + ", past its deadline"
	}
	return j.Status
}

// tableWriter aligns its columns.
type tableWriter struct{ *tabwriter.Writer }

func newTable(w io.Writer) tableWriter { return tableWriter{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// row writes a row; an empty cell is a dash.
func (t tableWriter) row(cells ...string) {
	for i, cell := range cells {
		if cell == "" {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// field writes a row of a name and a value, unless it is empty.
func (t tableWriter) field(name, value string) {
	if value != "" {
		t.row(name, safe(value))
	}
}

// safe returns a client's text without what a terminal would act on.
func safe(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// age returns how long ago then was.
func age(now, then time.Time) string {
	return max(0, now.Sub(then)).Truncate(time.Second).String() + " ago"
}
