package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"pinion/runtime/jobqueue/store/consume"
	"pinion/runtime/jobqueue/store/state"
)

// TestServer_LogsCutIDs: an id may have a kilobyte, and the log shows a part.
func TestServer_LogsCutIDs(t *testing.T) {
	var log bytes.Buffer
	s := (&consume.Consumer{}).Serve(nil, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(state.ErrLost)
	s.End(ctx, &consume.Claim{Job: state.Job{ID: strings.Repeat("😀", 256)}}, state.Succeeded, nil)
	if line := log.String(); !strings.Contains(line, "😀") || len(line) > 500 {
		t.Errorf(`the line has %d bytes: %.600s, want line with "😀" and len(line) at most 500 bytes`, len(line), line)
	}
}
