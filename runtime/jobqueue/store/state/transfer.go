package state

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// MinRate is how many bytes a second a link to NATS must pass at least: a message shows no progress before all of it
	// has passed.
	MinRate = 96 << 10
	// maxInFlight is how many parts of an object may be on their way at once.
	maxInFlight = 32
	// partTimeout is how long a part may take where nothing else bounds it.
	partTimeout = time.Minute
	// slowPart is how long a part may take on a link that has room for more parts: what waits behind them, such as the
	// heartbeats of other jobs, is not to wait long.
	slowPart = 250 * time.Millisecond
)

// errIdle means that nothing moved for too long.
var errIdle = errors.New("NATS was silent for too long")

// idleTimeout is a context that ends when nothing has moved for too long. Its deadline moves with each progress.
type idleTimeout struct {
	context.Context

	idle       time.Duration
	onProgress func() // if set, it is called whenever something has moved

	mu    sync.Mutex
	last  time.Time // when something moved
	timer *time.Timer
}

// WithIdleTimeout returns a context that ends when nothing has moved for idle, and for as long as a message with so
// many bytes takes on a slow link. A large object is moved in parts, and each restarts the timeout.
func WithIdleTimeout(idle time.Duration, size int) (context.Context, context.CancelFunc) {
	return WithProgress(idle+OnSlowLink(size), nil)
}

// OnSlowLink returns how long a message with so many bytes takes on a slow link; a larger one is moved in parts.
func OnSlowLink(size int) time.Duration {
	return time.Duration(min(size, ObjectFrom)) * time.Second / MinRate
}

// WithProgress is WithIdleTimeout with a function that is called whenever something has moved.
func WithProgress(idle time.Duration, onProgress func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p := &idleTimeout{Context: ctx, idle: idle, onProgress: onProgress, last: time.Now()}
	p.timer = time.AfterFunc(idle, func() { cancel(errIdle) })
	return p, func() {
		p.timer.Stop()
		cancel(nil)
	}
}

// idleTimeoutKey is the key under which a context has its progress.
type idleTimeoutKey struct{}

// Value implements context.Context.
func (p *idleTimeout) Value(key any) any {
	if key == (idleTimeoutKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// Deadline implements context.Context.
func (p *idleTimeout) Deadline() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Add(p.idle), true
}

// Err implements context.Context.
func (p *idleTimeout) Err() error {
	err := p.Context.Err()
	if err != nil && context.Cause(p.Context) == errIdle { //nolint:errorlint // it is set above, and never wrapped
		return context.DeadlineExceeded
	}
	return err
}

// NoteProgress restarts the timeout of a context.
func NoteProgress(ctx context.Context) {
	p, ok := ctx.Value(idleTimeoutKey{}).(*idleTimeout)
	if !ok || ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	p.last = time.Now()
	p.timer.Reset(p.idle)
	p.mu.Unlock()
	if p.onProgress != nil {
		p.onProgress()
	}
}

// upload is the data of an object, for the client of NATS to read. It waits until NATS has what went before: as fast as
// it is read, it would fill the link.
type upload struct {
	ctx     context.Context
	nc      *nats.Conn
	data    []byte
	started bool
	window  int         // how many parts may be on their way
	parts   []chan part // those that are
}

// part is what became of a part: how long it took, or why NATS does not have it.
type part struct {
	took time.Duration
	err  error
}

// Read implements io.Reader.
func (u *upload) Read(to []byte) (int, error) {
	if u.started { // what was read last is published
		u.parts = append(u.parts, u.flush())
	}
	u.started = true
	for len(u.parts) > 0 && (len(u.parts) >= u.window || len(u.data) == 0) {
		if err := u.wait(); err != nil {
			return 0, err
		}
	}
	if len(u.data) == 0 {
		return 0, io.EOF
	}
	n := copy(to, u.data)
	u.data = u.data[n:]
	return n, nil
}

// flush asks NATS to answer once it has what was published.
func (u *upload) flush() chan part {
	answer, begun := make(chan part, 1), time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(u.ctx, partTimeout)
		defer cancel()
		err := u.nc.FlushWithContext(ctx)
		answer <- part{time.Since(begun), err}
	}()
	return answer
}

// wait waits for the first of the parts.
func (u *upload) wait() error {
	select {
	case p := <-u.parts[0]:
		if p.err != nil {
			return p.err
		}
		if p.took < slowPart {
			u.window = min(u.window+1, maxInFlight)
		} else {
			u.window = max(u.window/2, 1)
		}
	case <-u.ctx.Done():
		return u.ctx.Err()
	}
	u.parts = u.parts[1:]
	NoteProgress(u.ctx)
	return nil
}

// download reads an object, each part of which restarts the timeout.
type download struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (d download) Read(to []byte) (int, error) {
	n, err := d.from.Read(to)
	if n > 0 {
		NoteProgress(d.ctx)
	}
	return n, err
}
