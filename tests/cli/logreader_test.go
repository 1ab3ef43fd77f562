package cli

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// loudModel writes as much as it is asked to, in lines of a kilobyte.
const loudModel = `
def run(kilobytes: int) -> str:
    for _ in range(kilobytes):
        print("x" * 1000)
    return "done"
`

// overflow is more than the server buffers of its log, in kilobytes.
const overflow = 10 << 10

// droppedRecords is how many records of its log a server has dropped.
func droppedRecords(t *testing.T, s *harness.Server) float64 {
	t.Helper()
	return harness.Scrape(t, s).Value("pinion_log_dropped_records_total")
}

// socketPath is a --host in its own folder.
func socketPath(t *testing.T) string { return "unix:" + filepath.Join(harness.ShortTempDir(t), "http") }

// stoppedReader is a pipe whose reader takes nothing until resume, and then everything.
func stoppedReader(t *testing.T) (write *os.File, read *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	assert.NoError(t, err)
	t.Cleanup(func() { read.Close(); write.Close() })
	return write, read
}

// loudServer serves loudModel at a socket, and writes its log to this file.
func loudServer(t *testing.T, log *os.File) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", loudModel), Host: socketPath(t), Output: log,
	})
}

// TestLogReader_Leaves: the server outlives the reader of its log, as `pinion serve | head -1` has one.
func TestLogReader_Leaves(t *testing.T) {
	t.Parallel()
	write, read := stoppedReader(t)
	s := loudServer(t, write)
	read.Close()
	write.Close()
	for range 3 {
		a := s.Input(harness.Input{"kilobytes": 10})
		assert.TrueNow(t, a.Status == "succeeded", "without a reader of the log: %s, want Status succeeded", a)
	}
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// TestLogReader_Stops: what the reader does not take is dropped, counted and, when the reader is back, logged.
// Meanwhile predictions, probes and the shutdown go on.
func TestLogReader_Stops(t *testing.T) {
	t.Parallel()
	write, read := stoppedReader(t)
	s := loudServer(t, write)
	a := s.Input(harness.Input{"kilobytes": overflow})
	assert.TrueNow(t, a.Status == "succeeded", "with a reader that stopped: %s, want Status succeeded", a)
	assert.Equal(t, "health", s.Health().Status, "READY")
	assert.Eventually(t, "records are dropped", func() bool { return droppedRecords(t, s) > 0 })
	log := &harness.Log{}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(log, read) })
	assert.Eventually(t, "the log tells of what was dropped", func() bool {
		_, found := log.Find("log records were dropped: the log's reader is too slow")
		return found
	})
	for _, line := range log.Lines() {
		assert.TrueNow(t, strings.HasPrefix(line.Raw, "{") && (strings.HasSuffix(line.Raw, "}") || len(line.Raw) >= 4<<10),
			`a torn record: %.200q, want Raw starting with "{" and len(Raw) at least %d bytes`, line.Raw, 4<<10)
	}
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
	write.Close()
	reading.Wait()
	_, found := log.Find("stopped")
	assert.True(t, found, "the log of a reader that is back lacks the end")
}

// TestLogReader_StoppedAtEnd: a full pipe does not hold the end of the server.
func TestLogReader_StoppedAtEnd(t *testing.T) {
	t.Parallel()
	write, _ := stoppedReader(t)
	s := loudServer(t, write)
	s.Succeed(harness.Input{"kilobytes": 1 << 10})
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// TestLogReader_LogOnFullDisk: ENOSPC is a reader that does not take anything.
func TestLogReader_LogOnFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	s := loudServer(t, full)
	s.Succeed(harness.Input{"kilobytes": overflow})
	assert.Eventually(t, "records are dropped", func() bool { return droppedRecords(t, s) > 0 })
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// TestLogReader_LogOnStoppedTerminal: Ctrl-S at the terminal stops the log alone.
func TestLogReader_LogOnStoppedTerminal(t *testing.T) {
	t.Parallel()
	term := harness.NewTerminal(t)
	s := loudServer(t, term.Program)
	assert.NoError(t, unix.IoctlSetInt(int(term.Program.Fd()), unix.TCXONC, unix.TCOOFF))
	s.Succeed(harness.Input{"kilobytes": 1 << 10})
	assert.Equal(t, "health", s.Health().Status, "READY")
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// TestLogreader_BatchingLogReaderLeaves: the same of `pinion batching`, whose log names workers that come and go.
func TestLogreader_BatchingLogReaderLeaves(t *testing.T) {
	t.Parallel()
	write, read := stoppedReader(t)
	dir := harness.ShortTempDir(t)
	cmd := exec.Command(harness.Binary(t), "batching", "-address", "workers", "-host", "unix:"+filepath.Join(dir, "http"),
		"-log-format", "json")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, harness.BareEnv(), write, write
	harness.StartCommand(t, cmd)
	write.Close()
	first := make([]byte, 1)
	_, err := io.ReadFull(read, first)
	assert.NoError(t, err)
	read.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for range 8 { // each comes and goes with a line of the log
		assert.Eventually(t, "a worker can connect", func() bool {
			c, err := net.Dial("unix", filepath.Join(dir, "workers"))
			if err == nil {
				_, _ = c.Write([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")) // a frame that cannot be
				c.Close()
			}
			return err == nil || len(ended) > 0
		})
	}
	assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	err = <-ended
	assert.True(t, err == nil, "it: got %v, want no error", err)
}

// TestLogReader_ErrorWithoutReaderKeepsExitCode: the exit code is what it is, where the reader of stderr has left or
// stopped.
func TestLogReader_ErrorWithoutReaderKeepsExitCode(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(read, write *os.File){
		"left": func(read, _ *os.File) { read.Close() },
		"stopped": func(_, write *os.File) {
			_, _ = unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096)
			_, _ = write.Write(make([]byte, 4096))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			write, read := stoppedReader(t)
			spoil(read, write)
			cmd := exec.Command(harness.Binary(t), "serve", filepath.Join(t.TempDir(), "none"))
			cmd.Env, cmd.Stderr = harness.BareEnv(), write
			if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("it ended with %v, want exit code 2", err)
			}
		})
	}
}
