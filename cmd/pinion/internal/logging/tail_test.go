package logging

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

// silent returns a sink that drops its records.
func silent() *Sink {
	s := &Sink{limit: BufferSize}
	s.changed.L = &s.mu
	return s
}

func TestSink_KeepsItsEndWhileWatched(t *testing.T) {
	s := silent()
	add := func(n int, text string) {
		for i := range n {
			fmt.Fprintf(s, "%s %d\n", text, i)
		}
	}
	want := func(since uint64, number int, last uint64, first string) {
		t.Helper()
		records, end := s.Since(since)
		if len(records) != number || end != last || number > 0 && records[0] != first {
			t.Errorf("since %d: got %d records up to %d, want %d up to %d; the first of %.80q, want %q",
				since, len(records), end, number, last, records, first)
		}
	}
	add(3, "early")
	want(0, 0, 0, "")
	s.Watch()
	s.Watch()
	add(3, "seen")
	want(0, 3, 3, "seen 0")
	want(2, 1, 3, "seen 2")
	want(3, 0, 3, "")
	want(99, 0, 3, "") // of a server before this one
	add(tailRecords+50, "many")
	want(0, tailRecords, tailRecords+53, "many 50")
	s.Unwatch()
	want(tailRecords+52, 1, tailRecords+53, fmt.Sprintf("many %d", tailRecords+49))
	s.Unwatch()
	add(1, "late")
	want(0, 0, tailRecords+53, "")
	s.Watch()
	add(1, strings.Repeat("é", tailBytes))
	add(20, strings.Repeat("x", tailBytes/4))
	records, _ := s.Since(0)
	size := 0
	for _, r := range records {
		size += len(r)
	}
	assert.True(t, size <= tailBytes && len(records) >= 3,
		"got %d records of %d bytes, want at most %d bytes", len(records), size, tailBytes)
}

func TestSink_TailHasNoColoursAndNoDrafts(t *testing.T) {
	s := silent()
	s.Watch()
	log := newLogger(s, slog.LevelInfo, true, true)
	log.Log(t.Context(), logtext.LevelDraft, "shards 40%|")
	log.Warn("the first\nof two lines", "n", 1)
	records, _ := s.Since(0)
	assert.True(t, len(records) == 1 && strings.HasSuffix(records[0], "WRN the first n=1\nof two lines"),
		"got %q, want the record alone, without escapes", records)
}

// TestSink_UnwatchedKeepsNothing: a record costs no memory beside its bytes.
func TestSink_UnwatchedKeepsNothing(t *testing.T) {
	s := silent()
	record := []byte("a record\n")
	s.waiting = make([]byte, 0, 1<<20)
	assert.Equal(t, "allocations a record", testing.AllocsPerRun(1000, func() { _, _ = s.Write(record) }), 0)
	assert.True(t, s.tail.records == nil, "got %d records, want none", len(s.tail.records))
}
