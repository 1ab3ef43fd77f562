package files

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options say where files go and what a transfer may cost. A zero field takes its default.
type Options struct {
	// Root is the folder in which the store makes its own; it is created with mode 0700.
	// Default: the system's folder for temporary files.
	Root string
	// Remake makes Root anew, where somebody has removed it, and says where it is then. Default: at the same place.
	Remake func() (root string, err error)
	// MaxFile is the most bytes that one file may have; negative: no limit. Default: 10 GiB.
	MaxFile int64
	// MaxFiles is the most files of one request; negative: no limit. Default: 1000.
	MaxFiles int
	// Parallel is how many files of one prediction are fetched, or uploaded, at the same time. Default: 8.
	Parallel int
	// Timeout is how long one download, or one try of an upload, may take; negative: no limit.
	// Default: 30 min.
	Timeout time.Duration
	// Stall is how long a server may send nothing, or take nothing of an upload; negative: no limit.
	// Default: 60 s.
	Stall time.Duration
	// MaxRedirects is how many redirects one transfer may follow; negative: none. Default: 10.
	MaxRedirects int
	// Retries is how often an upload is tried again; negative: never. Default: 12.
	Retries int
	// Backoff is the wait before an upload's first retry; each further one is twice as long, up to
	// MaxBackoff. Defaults: 100 ms, and 2 min.
	Backoff, MaxBackoff time.Duration
	// UserAgent is what transfers call themselves. Default: "pinion".
	UserAgent string
	// DenyPrivate refuses to connect to addresses that are not public (loopback, private networks,
	// link-local with the metadata services of clouds), whatever name or redirect led there.
	// Proxies from the environment are then not used, for the check would see only their address.
	DenyPrivate bool
	// DenyPrivateUploads does the same for uploads, but for those whose Destination is Trusted.
	DenyPrivateUploads bool
	// OnTransfer is told of each download and upload that has ended: Download or Upload; Succeeded, Failed or
	// Canceled; and the file's size in bytes, 0 unless it succeeded. It must not block. Default: none.
	OnTransfer func(direction, outcome string, bytes int64)
	// Logger gets what no caller can be told: a folder that could not be removed. Default: none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Root == "" {
		o.Root = os.TempDir()
	}
	o.MaxFile = cmp.Or(o.MaxFile, 10<<30)
	o.MaxFiles = cmp.Or(o.MaxFiles, 1000)
	o.Parallel = max(1, cmp.Or(o.Parallel, 8))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Minute)
	o.Stall = cmp.Or(o.Stall, time.Minute)
	o.MaxRedirects = cmp.Or(o.MaxRedirects, 10)
	o.Retries = max(0, cmp.Or(o.Retries, 12))
	o.Backoff = cmp.Or(o.Backoff, 100*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 2*time.Minute)
	if o.UserAgent == "" {
		o.UserAgent = "pinion"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store makes the folders of predictions. Safe for concurrent use.
type Store struct {
	options   Options
	transport *http.Transport // of downloads
	uploads   *http.Transport
	trusted   *http.Transport // of uploads to where the operator wants them; the same as uploads unless private addresses are denied
	ctx       context.Context // ends with Close
	cancel    context.CancelCauseFunc
	sleep     func(ctx context.Context, d time.Duration) // tests put their own in its place

	place  sync.Mutex // guards folder, and is held while one is made
	folder *folder

	mu      sync.Mutex
	closed  bool
	fetches sync.WaitGroup // calls of Fetch and Upload under way; joined under mu
}

// New makes a store. It also removes what stores of processes that were killed left in the same
// root.
func New(o Options) (*Store, error) {
	o = o.withDefaults()
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("make file store: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make file store: %w", err)
	}
	removeStale(root, o.Logger)
	f, err := makeFolder(root)
	if err != nil {
		return nil, fmt.Errorf("make file store: %w", err)
	}
	s := &Store{options: o, folder: f, transport: newTransport(o, o.DenyPrivate), uploads: newTransport(o, o.DenyPrivateUploads), sleep: sleep}
	if s.trusted = s.uploads; o.DenyPrivateUploads {
		s.trusted = newTransport(o, false)
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends what is being fetched and uploaded, and removes everything that the store put on disk.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.cancel(ErrClosed)
	s.fetches.Wait()
	s.transport.CloseIdleConnections()
	s.uploads.CloseIdleConnections()
	s.trusted.CloseIdleConnections()
	s.place.Lock()
	defer s.place.Unlock()
	if err := s.folder.remove(); err != nil {
		return fmt.Errorf("close file store: %w", err)
	}
	return nil
}

// enter counts a call in, unless the store is closed.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.fetches.Add(1)
	return true
}
