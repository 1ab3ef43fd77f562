package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"
)

// EmbedOptions are those of a NATS server in this process.
type EmbedOptions struct {
	Dir string // made with mode 0700 if it is missing
	// Sync is how often the files are written through to the disk; 0: with each message. Default of NATS: 2 min.
	Sync time.Duration
	// MaxBytes bounds what is stored; 0: a third of the free disk.
	MaxBytes int64
}

// Embedded is a NATS server with JetStream in this process, on a folder, without a port. It is the queue of one host: an accepted
// job survives the end of the process.
type Embedded struct {
	nats *server.Server
	lock *os.File
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
	if o.MaxBytes == 0 {
		if o.MaxBytes, err = thirdOfFree(o.Dir); err != nil {
			_ = lock.Close()
			return nil, err
		}
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "pinion", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxStore: o.MaxBytes, JetStreamMaxMemory: -1,
		SyncInterval: o.Sync, SyncAlways: o.Sync == 0,
	})
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("start the job queue in %s: %w", o.Dir, err)
	}
	s.Start()
	if !s.ReadyForConnections(embedWait) || !s.JetStreamEnabled() {
		s.Shutdown()
		s.WaitForShutdown()
		_ = lock.Close()
		return nil, fmt.Errorf("start the job queue in %s: its store could not be opened within %s", o.Dir, embedWait)
	}
	return &Embedded{nats: s, lock: lock}, nil
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

// thirdOfFree is a third of the free bytes of the folder's disk.
func thirdOfFree(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("look at the disk of the job queue's folder: %w", err)
	}
	return int64(stat.Bavail) * stat.Bsize / 3, nil
}

// Connect returns a connection inside the process.
func (s *Embedded) Connect(o ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect("", append(o, nats.InProcessServer(s.nats))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the job queue: %w", err)
	}
	return nc, nil
}

// Close ends the server. Its files stay.
func (s *Embedded) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	_ = s.lock.Close()
}
