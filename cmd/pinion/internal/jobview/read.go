package jobview

import (
	"context"

	"pinion/runtime/jobs"
)

// ReadList asks the queue for the jobs of a class ("": every one) that are waiting, running or dead ("": all of these), at most
// limit of jobs and of dead letters; 0: all.
func ReadList(ctx context.Context, a *jobs.Admin, class jobs.Class, status string, limit int) (list *List, err error) {
	counts, err := a.Count(ctx)
	if err != nil {
		return nil, err
	}
	var entries []jobs.Entry
	var letters []jobs.Letter
	if status != "dead" {
		of := map[string]jobs.Status{"waiting": jobs.Starting, "running": jobs.Processing}[status]
		if entries, err = a.Jobs(ctx, class, of, limit); err != nil {
			return nil, err
		}
	}
	if status == "dead" || status == "" {
		if letters, err = a.Letters(ctx, limit); err != nil {
			return nil, err
		}
	}
	return NewList(counts, entries, letters), nil
}
