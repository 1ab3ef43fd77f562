package natshost

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options are those of a NATS server that this process starts.
type Options struct {
	Dir string // made with mode 0700 if it is missing
	// Sync is how often the files are written through to the disk; 0 means with each message.
	Sync time.Duration
	// Queues is how many queues share the disk. Default: 1.
	Queues int
	// Program is the file of pinion-nats, and Version the version that it must have.
	Program, Version string
	// Env are variables of its environment besides those of this process.
	Env []string
	// Children, if set, starts the process, and is told when it was waited for.
	Children Children
	Logger   *slog.Logger
}

// Host is a NATS server with JetStream on a folder, without a port, which this process starts, watches and ends. It
// is the queue of one host: an accepted job survives the end of both processes.
type Host struct {
	o       Options
	program *os.File // an upgrade may replace the file meanwhile
	lock    *os.File
	socket  *os.File // listens; it outlives the server, so clients wait while that is started again

	close   sync.Once
	closing chan struct{}
	watched chan struct{} // closed when the server has ended for good

	mu      sync.Mutex
	server  *natsProcess // the last that was started
	checked time.Time
}

// FolderInUseError means that another process uses the folder.
type FolderInUseError struct{ Dir string }

func (e *FolderInUseError) Error() string {
	return fmt.Sprintf("the job queue's folder %s is in use by another server: stop it, or name another folder", e.Dir)
}

// Start starts a NATS server, and starts it again if it ends before Close.
func Start(o Options) (_ *Host, err error) {
	h := &Host{o: o, closing: make(chan struct{}), watched: make(chan struct{})}
	defer func() {
		if err != nil {
			h.closeFiles()
		}
	}()
	if h.program, err = openProgram(o.Program); err != nil {
		return nil, fmt.Errorf("start the job queue: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the job queue's folder: %w", err)
	}
	if h.lock, err = lockFolder(o.Dir); err != nil {
		return nil, err
	}
	if h.socket, err = listen(o.Dir); err != nil {
		return nil, err
	}
	if h.server, err = h.startProcess(); err != nil {
		return nil, err
	}
	go h.watch(h.server, time.Now())
	return h, nil
}

// restartInterval is the least time between two starts, or two checks, of the NATS server.
const restartInterval = 10 * time.Second

// watch starts the server again when it has ended: at once, or later if it was started a moment ago.
func (h *Host) watch(p *natsProcess, started time.Time) {
	defer close(h.watched)
	for {
		select {
		case <-h.closing:
			p.close()
			return
		case <-p.ended:
		}
		h.o.Logger.Error("the job queue's NATS server has ended: starting it again", "cause", p.cause)
		for p = nil; p == nil; {
			select {
			case <-h.closing:
				return
			case <-time.After(time.Until(started.Add(restartInterval))):
			}
			started = time.Now()
			var err error
			if p, err = h.startProcess(); err != nil {
				h.o.Logger.Error("the job queue's NATS server does not start: trying again", "error", err)
			}
		}
		h.mu.Lock()
		h.server = p
		h.mu.Unlock()
	}
}

// lockFolder keeps other servers out of the folder until this process ends.
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

// reserve returns what new jobs leave free, for the states of those that were accepted.
func (d disk) reserve() int64 { return min(256<<20, d.total/8) }

// Bytes returns how much the bodies of a queue's jobs may take: a third of the free disk at most, for all queues
// together.
func (h *Host) Bytes(most int64) int64 {
	d, err := diskOf(h.o.Dir)
	if err != nil {
		return most
	}
	return max(1<<20, min(most, d.free/3/int64(max(1, h.o.Queues))))
}

// Room says why no more jobs are accepted; nil means there is room on the disk.
func (h *Host) Room() error {
	d, err := diskOf(h.o.Dir)
	if err == nil && d.free < d.reserve() {
		err = fmt.Errorf("the disk of its folder is full: %d MiB are free, and %d are kept for jobs that were accepted",
			d.free>>20, d.reserve()>>20)
	}
	return err
}

// Revive makes NATS check its store: a server that met a full disk stops answering, even when there is room again, and
// must be restarted. It is called when NATS did not answer, which alone is no reason to restart it: it may be slow.
func (h *Host) Revive() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil || time.Since(h.checked) < restartInterval || h.Room() != nil {
		return
	}
	h.checked = time.Now()
	h.server.check()
}

// Dialer connects to the server.
func (h *Host) Dialer() Dialer { return Dialer{h.o.Dir} }

// Close ends the server. Its files stay.
func (h *Host) Close() {
	h.close.Do(func() { close(h.closing) })
	<-h.watched
	_ = os.Remove(filepath.Join(h.o.Dir, socketName)) // else the next server removes it
	h.closeFiles()
}

func (h *Host) closeFiles() {
	for _, f := range []*os.File{h.program, h.socket, h.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
}
