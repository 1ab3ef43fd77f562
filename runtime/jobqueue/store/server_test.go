package store

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// TestServer_LogsCutIDs: an id may have a kilobyte, and the log shows a part.
func TestServer_LogsCutIDs(t *testing.T) {
	var log bytes.Buffer
	s := (&Queue{}).Serve(nil, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrLost)
	s.end(ctx, &Claim{Job: Job{ID: strings.Repeat("😀", 256)}}, Succeeded, nil)
	if line := log.String(); !strings.Contains(line, "😀") || len(line) > 500 {
		t.Errorf(`the line has %d bytes: %.600s, want line with "😀" and len(line) at most 500 bytes`, len(line), line)
	}
}
