package store

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// slowest is how many bytes a second a link to NATS must pass at least: a message shows no progress before all of it
	// has passed.
	slowest = 96 << 10
	// mostAhead is how many parts of an object may be on their way at once.
	mostAhead = 32
	// mostPart is how long a part may take where nothing else bounds it.
	mostPart = time.Minute
	// busy is how long a part may take on a link that has room for more parts: what waits behind them, such as the
	// heartbeats of other jobs, is not to wait long.
	busy = 250 * time.Millisecond
)

// errSilent: NATS was silent for too long.
var errSilent = errors.New("NATS was silent for too long")

// progress is a context that ends when NATS was silent for too long. It has the deadline of the silence so far.
type progress struct {
	context.Context

	silence time.Duration
	moved   func() // if set, it is called whenever something has moved

	mu    sync.Mutex
	last  time.Time // when something moved
	timer *time.Timer
}

// Within returns a context that ends when NATS was silent for so long, and for as long as a message with so many bytes
// takes on a slow link. A large object is moved in parts, and each of them ends the silence.
func Within(silence time.Duration, size int) (context.Context, context.CancelFunc) {
	return within(silence+time.Duration(min(size, objectFrom))*time.Second/slowest, nil)
}

func within(silence time.Duration, moved func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p := &progress{Context: ctx, silence: silence, moved: moved, last: time.Now()}
	p.timer = time.AfterFunc(silence, func() { cancel(errSilent) })
	return p, func() {
		p.timer.Stop()
		cancel(nil)
	}
}

// progressKey is the key under which a context has its progress.
type progressKey struct{}

// Value implements context.Context.
func (p *progress) Value(key any) any {
	if key == (progressKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// Deadline implements context.Context.
func (p *progress) Deadline() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.Add(p.silence), true
}

// Err implements context.Context.
func (p *progress) Err() error {
	err := p.Context.Err()
	if err != nil && context.Cause(p.Context) == errSilent { //nolint:errorlint // it is set above, and never wrapped
		return context.DeadlineExceeded
	}
	return err
}

// moved begins the silence of a context anew.
func moved(ctx context.Context) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok || ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	p.last = time.Now()
	p.timer.Reset(p.silence)
	p.mu.Unlock()
	if p.moved != nil {
		p.moved()
	}
}

// upload is the data of an object, for the client of NATS to read. It waits until NATS has what went before: as fast as
// it is read, it would fill the link.
type upload struct {
	ctx   context.Context
	nc    *nats.Conn
	data  []byte
	begun bool
	ahead int         // how many parts may be on their way
	parts []chan part // those that are
}

// part is what became of a part: how long it took, or why NATS does not have it.
type part struct {
	took time.Duration
	err  error
}

// Read implements io.Reader.
func (u *upload) Read(to []byte) (int, error) {
	if u.begun { // what was read last is published
		u.parts = append(u.parts, u.flush())
	}
	u.begun = true
	for len(u.parts) > 0 && (len(u.parts) >= u.ahead || len(u.data) == 0) {
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
		ctx, cancel := context.WithTimeout(u.ctx, mostPart)
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
		if p.took < busy {
			u.ahead = min(u.ahead+1, mostAhead)
		} else {
			u.ahead = max(u.ahead/2, 1)
		}
	case <-u.ctx.Done():
		return u.ctx.Err()
	}
	u.parts = u.parts[1:]
	moved(u.ctx)
	return nil
}

// download reads an object, each part of which ends the silence.
type download struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (d download) Read(to []byte) (int, error) {
	n, err := d.from.Read(to)
	if n > 0 {
		moved(d.ctx)
	}
	return n, err
}
