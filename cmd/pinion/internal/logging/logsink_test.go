package logging

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// sinkOnPipe returns a sink that buffers limit bytes, and the end that reads it. The pipe holds one page.
func sinkOnPipe(t *testing.T, limit int) (*Sink, *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	assert.NoError(t, err)
	t.Cleanup(func() { read.Close(); write.Close() })
	_, err = unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096)
	assert.NoError(t, err)
	s := Open(int(write.Fd()), limit)
	s.notice = func(records, size uint64) []byte { return fmt.Appendf(nil, "dropped %d of %d\n", records, size) }
	return s, read
}

// TestLogsink_SinkReportsWhatItDropped: every record is read, or is among those that a notice in its place counts.
func TestLogsink_SinkReportsWhatItDropped(t *testing.T) {
	s, read := sinkOnPipe(t, 64<<10)
	const written = 4000
	record := func(i int) []byte { return fmt.Appendf(nil, "record %05d %s\n", i, bytes.Repeat([]byte("x"), 80)) }
	for i := range written {
		n, err := s.Write(record(i))
		assert.TrueNow(t, n == len(record(i)) && err == nil, "Write: %d, %v, want %d", n, err, len(record(i)))
	}
	records, size := s.Dropped()
	assert.TrueNow(t, records != 0 && size == records*uint64(len(record(0))),
		"dropped %d records of %d bytes, want not 0 and %d", records, size, records*uint64(len(record(0))))
	lines := bufio.NewScanner(read)
	next := 0
	for next < written {
		if !lines.Scan() {
			t.Fatalf("the log ends at %d: %v", next, lines.Err())
		}
		var i, n, of int
		if _, err := fmt.Sscanf(lines.Text(), "dropped %d of %d", &n, &of); err == nil {
			next += n
			continue
		}
		if _, err := fmt.Sscanf(lines.Text(), "record %d", &i); err != nil || i != next {
			t.Fatalf("got %.40q, want record %d", lines.Text(), next)
		}
		next++
	}
	s.Flush(time.Minute)
}

// TestLogsink_SinkTakesLargeRecord: an empty buffer takes what is larger than its limit.
func TestLogsink_SinkTakesLargeRecord(t *testing.T) {
	s, read := sinkOnPipe(t, 10)
	large := append(bytes.Repeat([]byte("x"), 1000), '\n')
	_, _ = s.Write(large)
	got, err := bufio.NewReader(read).ReadBytes('\n')
	assert.True(t, err == nil && bytes.Equal(got, large), "got %d bytes, %v, want %q", len(got), err, large)
}

// TestLogsink_SinkSurvivesBrokenPipe: neither Write nor Flush waits for a reader that has left.
func TestLogsink_SinkSurvivesBrokenPipe(t *testing.T) {
	s, read := sinkOnPipe(t, 100)
	read.Close()
	for range 100 {
		_, _ = s.Write([]byte("a record without a reader\n"))
	}
	records, _ := s.Dropped()
	assert.True(t, records != 0, "nothing was dropped: got %d, want anything but 0", records)
	s.Flush(time.Minute)
}

// TestLogsink_FlushWaitsForReaderThatGoesOn: what was accepted is read to its end, however slowly, and nothing is
// written twice.
func TestLogsink_FlushWaitsForReaderThatGoesOn(t *testing.T) {
	s, read := sinkOnPipe(t, 1<<20)
	const written = 5000
	for i := range written {
		_, _ = s.Write(fmt.Appendf(nil, "record %05d %s\n", i, bytes.Repeat([]byte("x"), 80)))
	}
	counted := make(chan int)
	go func() {
		n := 0
		for lines := bufio.NewScanner(read); n < written && lines.Scan(); n++ {
		}
		counted <- n
	}()
	s.Flush(time.Minute)
	assert.Equal(t, "records read", <-counted, written)
}

// TestLogsink_SinkOnNonBlockingDescriptor: another holder of the descriptor may have made it so.
func TestLogsink_SinkOnNonBlockingDescriptor(t *testing.T) {
	s, read := sinkOnPipe(t, 1<<20)
	assert.NoError(t, unix.SetNonblock(s.fd, true))
	const written = 500
	for i := range written {
		_, _ = s.Write(fmt.Appendf(nil, "record %05d %s\n", i, bytes.Repeat([]byte("x"), 80)))
	}
	lines := bufio.NewScanner(read)
	for i := range written {
		var got int
		if !lines.Scan() {
			t.Fatalf("the log ends at %d: %v", i, lines.Err())
		}
		if _, err := fmt.Sscanf(lines.Text(), "record %d", &got); err != nil || got != i {
			t.Fatalf("got %.40q, want record %d", lines.Text(), i)
		}
	}
	records, _ := s.Dropped()
	assert.True(t, records == 0, "%d were dropped", records)
}
