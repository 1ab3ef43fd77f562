package natsserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"
)

// Options of a server.
type Options struct {
	Dir  string        // where it keeps its streams; it exists
	Sync time.Duration // how often the files are written through to the disk; 0 means with each message
	// Logger gets warnings and errors; nil means they are not logged.
	Logger server.Logger
}

// Server is a NATS server without a port.
type Server struct {
	o    Options
	lock *os.File
	nats *server.Server
}

// startWait is how long a start may take; a large store is read first.
const startWait = 60 * time.Second

// lockName is the file that keeps a second server out of the folder.
const lockName = "nats.lock"

// Start starts NATS on a folder. If another server still has the folder, it is ending with its parent, and Start waits
// for that.
func Start(o Options) (*Server, error) {
	lock, err := lockFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, lock: lock}
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start() error {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.o.Dir, &disk); err != nil {
		return fmt.Errorf("look at the disk of the job queue's folder: %w", err)
	}
	n, err := server.NewServer(&server.Options{
		ServerName: "pinion", DontListen: true, NoSigs: true, NoLog: s.o.Logger == nil,
		// The streams bound themselves; and what was reserved when the disk had more room must still open.
		JetStream: true, StoreDir: s.o.Dir, JetStreamMaxStore: int64(disk.Blocks) * disk.Bsize, JetStreamMaxMemory: -1,
		SyncInterval: s.o.Sync, SyncAlways: s.o.Sync == 0,
	})
	if err != nil {
		return fmt.Errorf("start the job queue in %s: %w", s.o.Dir, err)
	}
	if s.o.Logger != nil {
		n.SetLoggerV2(s.o.Logger, false, false, false)
	}
	s.nats = n
	n.Start()
	if !n.ReadyForConnections(startWait) || !n.JetStreamEnabled() {
		return fmt.Errorf("start the job queue in %s: its store could not be opened within %s", s.o.Dir, startWait)
	}
	if name := s.damaged(); name != "" {
		return fmt.Errorf("start the job queue in %s: the stream %s cannot be opened, for its files are damaged: restore the folder, or name another one", s.o.Dir, name)
	}
	return nil
}

// damaged returns the name of a stream that NATS left out though there are messages in its files; "" means there is
// none. A stream without messages is one whose making was cut short.
func (s *Server) damaged() string {
	for _, e := range s.nats.Healthz(&server.HealthzOptions{Details: true}).Errors {
		// the pattern is right
		blocks, _ := filepath.Glob(filepath.Join(s.o.Dir, "jetstream", "*", "streams", e.Stream, "msgs", "*.blk"))
		for _, block := range blocks {
			if info, err := os.Stat(block); e.Stream != "" && err == nil && info.Size() > 0 {
				return e.Stream
			}
		}
	}
	return ""
}

// lockFolder keeps other servers out of the folder until this process ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the job queue's folder: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock the job queue's folder %s: %w", dir, err)
		}
	}
}

// Broken says what of the store cannot be read or written; nil means nothing. A store that met a full disk stays broken
// when there is room again, until the server is started again.
func (s *Server) Broken() error {
	health := s.nats.Healthz(&server.HealthzOptions{Details: true})
	for _, e := range health.Errors {
		return errors.New(e.Error)
	}
	if health.StatusCode != http.StatusOK {
		return errors.New(health.Error)
	}
	return nil
}

// InProcessConn implements nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// Close ends the server. Its files stay.
func (s *Server) Close() {
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	_ = s.lock.Close()
}
