package harness

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
)

// Options say how a server is started. The zero value serves nothing: Model or Dir is needed.
type Options struct {
	Python string   // the interpreter; default: AnyPython's
	Model  string   // --predictor, of the folder Dir
	Dir    string   // the model's folder; default: a copy of tests/models
	Args   []string // more arguments of `pinion serve`
	// Models are arguments NAME=DIR, in place of Dir; empty and not nil means that no folder is named. Each model then
	// has the Python of its folder, unless Python is given.
	Models []string
	Env    []string // added to BareEnv
	Tmp    string   // TMPDIR, to be looked through by the test itself; default: a new folder
	Host   string   // default 127.0.0.1
	Wrap   []string // a command, with arguments, that becomes the server's
	// Output is the server's stdout and stderr, if the test reads them itself: Log then stays empty. Host must be
	// unix:/path, because only the log has the port.
	Output *os.File
	// StopsReading lets the test stop the reader of the log (Server.StopReading).
	StopsReading bool
	// Binary is the program; default: Binary's.
	Binary string
	// Garbles means that the model writes rubbish to the server, whose error about that is not a defect.
	Garbles bool
	// CutsOff means that clients keep the server from finishing their requests, and its error about that is not a
	// defect.
	CutsOff bool
	// PortFromEnv leaves --port away.
	PortFromEnv bool
	// FormatFromEnv leaves --log-format away.
	FormatFromEnv bool
}

// Server is a running server.
type Server struct {
	Log     *Log
	Dir     string // the model's folder
	Tmp     string
	Address string // as the server's log has it
	PID     int

	t       testing.TB
	client  *http.Client
	base    string
	marker  string
	cmd     *exec.Cmd
	exited  chan struct{}
	shared  bool     // Tmp is the test's
	lenient bool     // Options.Garbles
	cut     bool     // Options.CutsOff
	pipe    *logPipe // of Options.StopsReading
	ended   bool     // it was waited for and checked
}

// Start starts a server and waits until it listens.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := Launch(t, o)
	if o.Output != nil {
		s.Address = o.Host
		s.connect()
		assert.Eventually(t, "the server answers", func() bool {
			_, err := s.health()
			return err == nil || s.hasExited()
		})
		return s
	}
	listening := func() bool {
		line, ok := s.Log.Find("listening")
		s.Address = line.Address
		return ok || s.hasExited()
	}
	assert.Eventually(t, "the server listens", listening)
	assert.TrueNow(t, s.Address != "", "the server ended before it listened, want its address")
	s.connect()
	return s
}

// Ready starts a server and waits until its model is set up.
func Ready(t testing.TB, o Options) *Server {
	t.Helper()
	s := Start(t, o)
	s.WaitHealth("READY")
	return s
}

// Refused starts a server that must end by itself before it listens, and returns its exit code and what it wrote. One
// with a job queue may listen before: it does not wait for a NATS that is slow to refuse it.
func Refused(t testing.TB, o Options) (code int, text string) {
	t.Helper()
	s := Launch(t, o)
	code, text = s.RefusedLate()
	_, listened := s.Log.Find("listening")
	assert.False(t, listened && !slices.Contains(o.Args, "--nats"), "it listened before it ended")
	return code, text
}

// RefusedLate waits for a server that must end by itself, and returns its exit code and what it wrote.
func (s *Server) RefusedLate() (code int, text string) {
	s.t.Helper()
	s.ended = true
	code = s.Wait()
	s.checkProcesses()
	s.checkFolders()
	return code, s.Log.String()
}

// Launch starts a server, and does not wait.
func Launch(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{
		t: t, Log: &Log{}, Dir: o.Dir, Tmp: o.Tmp, shared: o.Tmp != "", lenient: o.Garbles, cut: o.CutsOff,
		exited: make(chan struct{}),
	}
	if s.Dir == "" {
		s.Dir = Models(t)
	}
	if s.Tmp == "" {
		s.Tmp = ShortTempDir(t)
	}
	folders, python := []string{s.Dir}, o.Python
	if o.Models != nil {
		folders, python = o.Models, cmp.Or(python, "none")
	}
	if python == "" {
		python = AnyPython(t).Path
	}
	host := o.Host
	if host == "" {
		host = "127.0.0.1"
	}
	arguments := append(append([]string{"serve"}, folders...), "--host", host)
	if !o.FormatFromEnv {
		arguments = append(arguments, "--log-format", "json")
	}
	if !o.PortFromEnv {
		arguments = append(arguments, "--port", "0")
	}
	if python != "none" {
		arguments = append(arguments, "--python", python)
	}
	if o.Model != "" {
		arguments = append(arguments, "--predictor", o.Model)
	}
	if os.Getenv("PINION_TEST_PRELOAD") != "" { // all of the suite against forked workers
		arguments = append(arguments, "--preload")
	}
	s.marker = fmt.Sprintf("PINION_TEST_SERVER=%d-%s", os.Getpid(),
		filepath.Base(s.Tmp)+"-"+fmt.Sprint(time.Now().UnixNano()))
	command := append(append(append([]string{}, o.Wrap...), cmp.Or(o.Binary, Binary(t))), append(arguments, o.Args...)...)
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Env = append(append(BareEnv(), "TMPDIR="+s.Tmp, s.marker), o.Env...)
	s.cmd.Dir = s.Dir
	s.cmd.Stdout, s.cmd.Stderr = s.Log, s.Log
	if o.Output != nil {
		s.cmd.Stdout, s.cmd.Stderr = o.Output, o.Output
	}
	if o.StopsReading {
		s.pipe = assert.Must(newLogPipe(s.Log))(t)
		s.cmd.Stdout, s.cmd.Stderr = s.pipe.write, s.pipe.write
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.WaitDelay = time.Second // a daemon of the model's may hold the pipe open
	err := s.cmd.Start()
	if s.pipe != nil {
		s.pipe.write.Close()
	}
	assert.NoError(t, err, "start the server")
	s.PID = s.cmd.Process.Pid
	go func() {
		_ = s.cmd.Wait() // ProcessState says how it ended
		if s.pipe != nil {
			s.pipe.wait()
		}
		close(s.exited)
	}()
	t.Cleanup(s.sweep)
	t.Cleanup(s.leave) // the first to be called
	return s
}

// At returns a server that the test started in another way: requests can be sent to it.
func At(address string) *Server {
	s := &Server{Address: address}
	s.connect()
	return s
}

// connect makes the client.
func (s *Server) connect() {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	s.base = s.Address
	if path, isUnix := strings.CutPrefix(s.Address, "unix:"); isUnix {
		s.base = "http://unix"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	s.client = &http.Client{Transport: transport, Timeout: 5 * assert.Timeout} // a request that hangs fails its test
}

func (s *Server) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// Wait waits until the server has ended, and returns its exit code; -1 where a signal ended it.
func (s *Server) Wait() int {
	s.t.Helper()
	assert.NoError(s.t, until(s.hasExited), "the server does not end")
	return s.cmd.ProcessState.ExitCode()
}

// Signal sends the server a signal.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	assert.NoError(s.t, s.cmd.Process.Signal(sig), "signal the server")
}

// Stop ends the server by SIGTERM, and checks its exit code and what it left.
func (s *Server) Stop() {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	s.Ended(0)
}

// Ended waits for the end of a server, and checks its exit code and what it left.
func (s *Server) Ended(code int) {
	s.t.Helper()
	s.ended = true
	assert.Equal(s.t, "exit code", s.Wait(), code)
	s.checkLeftovers()
}

// Killed waits for the end of a server that was killed: it could not clean up, but its workers must be gone.
func (s *Server) Killed() {
	s.t.Helper()
	s.ended = true
	s.Wait()
	s.checkProcesses()
}

// Kill ends the server by SIGKILL.
func (s *Server) Kill() {
	s.t.Helper()
	s.Signal(syscall.SIGKILL)
	s.Killed()
}

// checkLeftovers looks for what an ended server must not have left.
func (s *Server) checkLeftovers() {
	s.t.Helper()
	s.checkProcesses()
	s.checkFolders()
	assert.Equal(s.t, "the log", s.Log.defect(s.cut || s.cmd.ProcessState.ExitCode() == exitInterrupted, s.lenient), "")
}

func (s *Server) checkFolders() {
	s.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(s.Tmp, "pinion-*")); len(left) > 0 && !s.shared { // a fixed pattern
		s.t.Errorf("run folders are left: %q", left)
	}
}

func (s *Server) checkProcesses() {
	s.t.Helper()
	if until(func() bool { return len(marked(s.marker)) == 0 }) != nil {
		for _, pid := range marked(s.marker) {
			s.t.Errorf("process %d is left, want none: %s", pid, CommandLine(pid))
		}
	}
}

// Processes returns all that belong to this server, itself included.
func (s *Server) Processes() []int { return marked(s.marker) }

// leave ends a server that its test has not ended.
func (s *Server) leave() {
	switch {
	case s.ended || s.t.Failed():
	case s.hasExited():
		s.t.Errorf("the server ended by itself: exit code %d", s.cmd.ProcessState.ExitCode())
	default:
		s.Stop()
	}
}

// exitInterrupted is the exit code of a server that was not allowed to finish.
const exitInterrupted = 130

// shownLog is how many bytes of a log's beginning and end a failed test shows.
const shownLog = 4000

// sweep ends what is left of a server, and shows its log where the test failed.
func (s *Server) sweep() {
	for _, pid := range marked(s.marker) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may end by itself meanwhile
	}
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	if s.t.Failed() {
		text := s.Log.String()
		if len(text) > 2*shownLog {
			text = text[:shownLog] + "\n[…]\n" + text[len(text)-shownLog:]
		}
		s.t.Logf("the server's log:\n%s", text)
	}
}

// serial numbers what needs a unique name.
var serial atomic.Int64

// ShortTempDir makes a folder whose path is short enough for the sockets that multiprocessing makes in it.
func ShortTempDir(t testing.TB) string {
	t.Helper()
	folder := assert.Must(os.MkdirTemp("", "pt"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // a child that is killed may still write
	return folder
}

// Models makes a copy of the folder of test models, so that a test may write there.
func Models(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), fmt.Sprintf("models%d", serial.Add(1)))
	assert.NoError(t, os.CopyFS(folder, withoutCorpus{os.DirFS("models").(fs.ReadDirFS)}), "copy the models")
	return folder
}

// withoutCorpus leaves out the folder corpus: a test copies its many models one by one.
type withoutCorpus struct{ fs.ReadDirFS }

// ReadDir implements fs.ReadDirFS.
func (w withoutCorpus) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := w.ReadDirFS.ReadDir(name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		// Another test may have left bytecode there.
		return name == "." && e.Name() == "corpus" || e.Name() == "__pycache__"
	}), err
}
