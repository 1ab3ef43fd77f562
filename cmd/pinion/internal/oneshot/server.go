package oneshot

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/health"
)

// Server is a server that this command started.
type Server struct {
	Address string
	process *os.Process
	ended   chan struct{} // closed when it has ended
	misused bool          // it exited with process.ExitUsage; read it only when it has ended

	mu  sync.Mutex
	log strings.Builder // since the start
}

// maxLog is how many bytes of the log are kept.
const maxLog = 64 << 10

// StartServer starts a server and waits until it is ready. When stop is closed before, it returns
// process.ErrInterrupted. The error of a server whose arguments are wrong has the exit code process.ExitUsage.
func StartServer(args []string, stop <-chan struct{}) (*Server, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	cmd := exec.Command(exe, args...)
	// Ctrl-C goes to this command alone. If this command is killed, the server gets SIGTERM.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s := &Server{ended: make(chan struct{})}
	started, listening := make(chan error), make(chan string, 1)
	go func() {
		defer close(s.ended)
		// Pdeathsig is sent when the thread that started the child ends, so this one stays until the child has.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		s.read(log, listening)
		_ = cmd.Wait() // its log tells more
		s.misused = cmd.ProcessState.ExitCode() == process.ExitUsage
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s.process = cmd.Process
	if err := s.ready(listening, stop); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// read reads the log until its end.
func (s *Server) read(log io.Reader, listening chan<- string) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		var entry struct{ Level, Msg, Address, Error string }
		switch {
		case json.Unmarshal([]byte(line), &entry) != nil:
			s.keep(line)
		case entry.Msg == "listening":
			listening <- entry.Address
		case entry.Error != "":
			s.keep(entry.Msg + ": " + entry.Error + "\n")
		case entry.Level != "INFO" || !strings.HasPrefix(entry.Msg, "shutting"):
			s.keep(entry.Msg + "\n")
		}
		if err != nil {
			return
		}
	}
}

func (s *Server) keep(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log.Len() < maxLog {
		s.log.WriteString(line)
	}
}

// broken returns an error for a server that cannot be measured, with its log.
func (s *Server) broken(what string) error {
	return fmt.Errorf("%s:\n%s", what, s.output())
}

func (s *Server) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.log.String())
}

// ready waits until the server serves.
func (s *Server) ready(listening <-chan string, stop <-chan struct{}) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case s.Address = <-listening:
		case <-s.ended:
			if s.misused {
				return process.Misused(errors.New(strings.TrimPrefix(s.output(), "pinion: ")))
			}
			return s.broken("the server ended")
		case <-stop:
			return process.ErrInterrupted
		case <-tick.C:
		}
		if s.Address == "" {
			continue
		}
		switch status, _ := Status(context.Background(), s.Address, ""); status {
		case health.Ready, health.Busy:
			return nil
		case health.Failed, health.Defunct:
			return s.broken("the model cannot be set up")
		}
	}
}

// Status asks a server on this machine for the status in its health document, "" if it does not say, and the ranks of
// its workers. The address of a Unix domain socket begins with "unix:".
func Status(ctx context.Context, address, token string) (health.Status, [][]health.Rank) {
	// Its certificate is for the name that clients know, and not for this machine's address.
	anyName := &tls.Config{InsecureSkipVerify: true} //nolint:gosec
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: anyName}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		address = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/health-check", nil)
	if err != nil {
		return "", nil
	}
	(&Client{Token: token}).authorize(request)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", nil
	}
	defer answer.Body.Close()
	var document struct {
		Status  health.Status
		Workers []struct{ Ranks []health.Rank }
	}
	_ = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&document) // another answer leaves it empty
	ranks := make([][]health.Rank, len(document.Workers))
	for i, w := range document.Workers {
		ranks[i] = w.Ranks
	}
	return document.Status, ranks
}

// Stop ends the server, and waits until it is gone.
func (s *Server) Stop() {
	if err := s.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = s.process.Kill()
	}
	<-s.ended
}
