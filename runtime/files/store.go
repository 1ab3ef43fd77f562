package files

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pinion/runtime/egress"
)

// Options say where files are stored, and limit transfers. A zero field takes its default.
type Options struct {
	// Root is the folder in which the store makes its folder; it is created with mode 0700. Default: the system's folder
	// for temporary files.
	Root string
	// Remake makes Root again after another program removed it, and returns its path. Default: the same path.
	Remake func() (root string, err error)
	// MaxFile is the largest size of a file in bytes; negative means no limit. Default: 10 GiB.
	MaxFile int64
	// MaxFiles is how many files a request may have; negative means no limit. Default: 1000.
	MaxFiles int
	// Parallel is how many files of a prediction are fetched, or uploaded, at a time. Default: 8.
	Parallel int
	// Timeout bounds a download, or one try of an upload; negative means no limit. Default: 30 min.
	Timeout time.Duration
	// Stall is how long a server may neither send nor receive a byte; negative means no limit. Default: 60 s.
	Stall time.Duration
	// MinRate is how many bytes a second a server must send or take, on average over Stall; negative means no limit.
	// Default: 4096.
	MinRate int
	// MaxRedirects is how many redirects one transfer may follow; negative means none. Default: 10.
	MaxRedirects int
	// Retries is how often an upload is retried; negative means never. Default: 12.
	Retries int
	// Backoff is the wait before an upload's first retry. It doubles with each retry, up to MaxBackoff, and is up to a
	// quarter longer at random. A longer Retry-After is respected, up to MaxBackoff. Defaults: 100 ms and 2 min.
	Backoff, MaxBackoff time.Duration
	// UserAgent is the User-Agent of transfers. Default: "pinion".
	UserAgent string
	// DenyPrivate refuses connections to addresses that are not public (loopback, private networks, link-local with the
	// metadata services of clouds), after redirects too. Proxies from the environment are then not used, because the check
	// would only see their address.
	DenyPrivate bool
	// DenyPrivateUploads does the same for uploads, except those whose Destination is Trusted.
	DenyPrivateUploads bool
	// OnTransfer receives the end of each transfer: Download or Upload; Succeeded, Failed or Canceled; and the file's size
	// in bytes, 0 unless it succeeded. It must not block. The default is none.
	OnTransfer func(direction, outcome string, bytes int64)
	// Logger logs errors that are not returned, for example of a folder that could not be removed. The default is none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Root = cmp.Or(o.Root, os.TempDir())
	o.MaxFile = cmp.Or(o.MaxFile, 10<<30)
	o.MaxFiles = cmp.Or(o.MaxFiles, 1000)
	o.Parallel = max(1, cmp.Or(o.Parallel, 8))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Minute)
	o.Stall = cmp.Or(o.Stall, time.Minute)
	o.MinRate = cmp.Or(o.MinRate, 4<<10)
	o.MaxRedirects = cmp.Or(o.MaxRedirects, 10)
	o.Retries = max(0, cmp.Or(o.Retries, 12))
	o.Backoff = cmp.Or(o.Backoff, 100*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 2*time.Minute)
	o.UserAgent = cmp.Or(o.UserAgent, "pinion")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Store makes the folders of predictions. It is safe for concurrent use.
type Store struct {
	options Options
	client  *egress.Client // of downloads
	uploads *egress.Client
	trusted *egress.Client  // of uploads to the operator's URL; uploads itself unless DenyPrivateUploads is set
	backoff egress.Backoff  // of uploads
	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	sleep   func(ctx context.Context, d time.Duration, wake <-chan struct{}) // tests replace it

	folderMu sync.Mutex // guards folder, and is held while one is made
	folder   *folder

	mu      sync.Mutex
	closed  bool
	fetches sync.WaitGroup // running calls; Add is called under mu
}

// New returns a store. It also removes the folders that killed processes left in the same root.
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
	s := &Store{
		options: o, folder: f, client: newClient(o, o.DenyPrivate), uploads: newClient(o, o.DenyPrivateUploads),
		backoff: egress.Backoff{First: o.Backoff, Most: o.MaxBackoff}, sleep: egress.Sleep,
	}
	if s.trusted = s.uploads; o.DenyPrivateUploads {
		s.trusted = newClient(o, false)
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends all transfers, and removes the store's folder.
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
	s.client.Close()
	s.uploads.Close()
	s.trusted.Close()
	s.folderMu.Lock()
	defer s.folderMu.Unlock()
	if err := s.folder.remove(); err != nil {
		return fmt.Errorf("close file store: %w", err)
	}
	return nil
}

// enter counts a running call, and returns false if the store is closed.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.fetches.Add(1)
	return true
}
