package jobs

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"
)

// EmbedOptions are those of a NATS server in this process.
type EmbedOptions struct {
	Dir string // made with mode 0700 if it is missing
	// Sync is how often the files are written through to the disk; 0: with each message.
	Sync time.Duration
}

// Embedded is a NATS server with JetStream in this process, on a folder, without a port. It is the queue of one host: an accepted
// job survives the end of the process.
type Embedded struct {
	o      EmbedOptions
	lock   *os.File
	socket net.Listener // nil: other processes cannot reach it

	mu        sync.Mutex
	nats      *server.Server
	closed    bool
	restarted time.Time
}

// FolderInUseError: another process has the folder.
type FolderInUseError struct{ Dir string }

func (e *FolderInUseError) Error() string {
	return fmt.Sprintf("the job queue's folder %s is in use by another server: stop it, or name another folder", e.Dir)
}

// embedWait is how long a start may take; a large store is read first.
const embedWait = 60 * time.Second

// Embed starts a NATS server.
func Embed(o EmbedOptions) (*Embedded, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the job queue's folder: %w", err)
	}
	lock, err := lockFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	e := &Embedded{o: o, lock: lock}
	if e.nats, err = e.start(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return e, nil
}

// start starts NATS on the folder.
func (e *Embedded) start() (*server.Server, error) {
	disk, err := diskOf(e.o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "pinion", DontListen: true, NoSigs: true, NoLog: true,
		// The streams bound themselves; and what was reserved when the disk had more room must still open.
		JetStream: true, StoreDir: e.o.Dir, JetStreamMaxStore: disk.total, JetStreamMaxMemory: -1,
		SyncInterval: e.o.Sync, SyncAlways: e.o.Sync == 0,
	})
	if err != nil {
		return nil, fmt.Errorf("start the job queue in %s: %w", e.o.Dir, err)
	}
	s.Start()
	if !s.ReadyForConnections(embedWait) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("start the job queue in %s: its store could not be opened within %s", e.o.Dir, embedWait)
	}
	if name := damaged(s, e.o.Dir); name != "" {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("start the job queue in %s: the stream %s cannot be opened, for its files are damaged: restore the folder, or name another one", e.o.Dir, name)
	}
	return s, nil
}

// damaged is the name of a stream that NATS left out though there are messages in its files; "": there is none. A stream without
// messages is one whose making was cut short.
func damaged(s *server.Server, dir string) string {
	for _, e := range s.Healthz(&server.HealthzOptions{Details: true}).Errors {
		blocks, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", e.Stream, "msgs", "*.blk")) // the pattern is right
		for _, block := range blocks {
			if info, err := os.Stat(block); e.Stream != "" && err == nil && info.Size() > 0 {
				return e.Stream
			}
		}
	}
	return ""
}

// lockFolder keeps other processes out of the folder until this one ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the job queue's folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &FolderInUseError{dir}
		}
		return nil, fmt.Errorf("lock the job queue's folder %s: %w", dir, err)
	}
	return f, nil
}

// disk is the size of a disk, and what is free of it, in bytes.
type disk struct{ total, free int64 }

func diskOf(dir string) (disk, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return disk{}, fmt.Errorf("look at the disk of the job queue's folder: %w", err)
	}
	return disk{int64(stat.Blocks) * stat.Bsize, int64(stat.Bavail) * stat.Bsize}, nil
}

// reserve is what new jobs leave free, for the states of those that were accepted.
func (d disk) reserve() int64 { return min(256<<20, d.total/8) }

// Bytes is how much the bodies of jobs may take: a third of the free disk at most.
func (e *Embedded) Bytes(most int64) int64 {
	d, err := diskOf(e.o.Dir)
	if err != nil {
		return most
	}
	return max(1<<20, min(most, d.free/3))
}

// Room says why no more jobs are accepted; nil: there is room on the disk.
func (e *Embedded) Room() error {
	d, err := diskOf(e.o.Dir)
	if err == nil && d.free < d.reserve() {
		err = fmt.Errorf("the disk of its folder is full: %d MiB are free, and %d are kept for jobs that were accepted", d.free>>20, d.reserve()>>20)
	}
	return err
}

// restartEvery is how long a NATS server that was started again is given.
const restartEvery = 10 * time.Second

// Revive starts NATS again if its store is broken: one that met a full disk answers no more, even when there is room again. It is
// called when NATS did not answer, which alone is no reason: it may be slow.
func (e *Embedded) Revive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || time.Since(e.restarted) < restartEvery || e.Room() != nil || broken(e.nats) == nil {
		return
	}
	e.restarted = time.Now()
	e.nats.Shutdown()
	e.nats.WaitForShutdown()
	if next, err := e.start(); err == nil { // else the next call tries again
		e.nats = next
	}
}

// broken says what of a NATS server's store cannot be read or written; nil: nothing.
func broken(s *server.Server) error {
	health := s.Healthz(&server.HealthzOptions{Details: true})
	for _, e := range health.Errors {
		return errors.New(e.Error)
	}
	if health.StatusCode != http.StatusOK {
		return errors.New(health.Error)
	}
	return nil
}

// InProcessConn implements nats.InProcessConnProvider: the client connects again to the NATS that runs then.
func (e *Embedded) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.nats.InProcessConn()
}

// Connect returns a connection inside the process.
func (e *Embedded) Connect(o ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect("", append(o, nats.InProcessServer(e))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the job queue: %w", err)
	}
	return nc, nil
}

// Close ends the server. Its files stay.
func (e *Embedded) Close() {
	e.closeSocket()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.nats.Shutdown()
	e.nats.WaitForShutdown()
	_ = e.lock.Close()
}
