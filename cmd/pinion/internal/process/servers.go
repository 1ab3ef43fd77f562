package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// serverName is the file in a run folder that describes its server.
const serverName = "server.json"

// ServerInfo describes a running server to other commands of its user.
type ServerInfo struct {
	PID     int         `json:"pid"`
	Address string      `json:"address"` // as programs on this machine reach it
	Models  []ModelInfo `json:"models"`
	Started time.Time   `json:"started"`

	lock string // the path of its lock
}

// ModelInfo describes a model of a running server.
type ModelInfo struct {
	Name   string `json:"name"`
	Folder string `json:"folder,omitempty"` // "" for a gateway, which has none
}

// Describe writes a description of the server into its run folder, and again whenever the folder is made again.
func (d *RunDir) Describe(address string, models []ModelInfo) error {
	text, err := json.Marshal(ServerInfo{PID: os.Getpid(), Address: address, Models: models, Started: time.Now()})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.description = text
	return d.describe()
}

// describe writes the description, if there is one. Called with the lock held.
func (d *RunDir) describe() error {
	if d.description == nil {
		return nil
	}
	path := filepath.Join(d.path, serverName)
	if err := os.WriteFile(path+".new", d.description, 0o600); err != nil {
		return fmt.Errorf("describe server: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Servers returns the running servers of this user that have their run folders in TMPDIR, the oldest first.
func Servers() []ServerInfo {
	var servers []ServerInfo
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), runDirPattern)) // fails for a bad pattern only
	for _, path := range found {
		if s, ok := readServer(path); ok {
			servers = append(servers, s)
		}
	}
	slices.SortFunc(servers, func(a, b ServerInfo) int { return a.Started.Compare(b.Started) })
	return servers
}

// readServer reads the description in a run folder; false means it has no running server of this user.
func readServer(path string) (s ServerInfo, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return s, false
	}
	text, err := os.ReadFile(filepath.Join(path, serverName))
	if err != nil || json.Unmarshal(text, &s) != nil || s.PID <= 0 {
		return s, false
	}
	if path, err = filepath.Abs(path); err != nil {
		return s, false
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return s, false
	}
	s.lock = filepath.Join(path, lockName)
	return s, s.runs()
}

// runs reports whether the process is the server: it has the lock of the run folder open. Another process may have its
// number.
func (s ServerInfo) runs() bool {
	fds := s.proc("fd")
	open, _ := os.ReadDir(fds)
	return slices.ContainsFunc(open, func(fd os.DirEntry) bool {
		path, err := os.Readlink(filepath.Join(fds, fd.Name()))
		return err == nil && path == s.lock
	})
}

func (s ServerInfo) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(s.PID), name)
}

// Stderr returns where the server's log goes: a path that opens it, and its name.
func (s ServerInfo) Stderr() (path, name string, err error) {
	path = s.proc("fd/2")
	name, err = os.Readlink(path)
	return path, name, err
}

// Process is a handle of a running server. It stays that server's even if another process gets its number later.
type Process struct{ fd int }

// Open opens the server's process.
func (s ServerInfo) Open() (*Process, error) {
	fd, err := unix.PidfdOpen(s.PID, 0)
	if err == nil && !s.runs() {
		unix.Close(fd)
		err = unix.ESRCH
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", s.PID, err)
	}
	return &Process{fd}, nil
}

// Stop makes the server end after the requests in flight. A second call ends it at once.
func (p *Process) Stop() error {
	err := unix.PidfdSendSignal(p.fd, unix.SIGINT, nil, 0) // a SIGTERM may be ignored, by --await-explicit-shutdown
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// Ended waits until the process has ended, for that long at most; negative means without a limit.
func (p *Process) Ended(atMost time.Duration) bool {
	limit := -1
	if atMost >= 0 {
		limit = int(atMost.Milliseconds())
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, limit)
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// Close releases the handle.
func (p *Process) Close() { unix.Close(p.fd) }
