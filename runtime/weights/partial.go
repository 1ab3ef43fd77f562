package weights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// partial is a file that is being fetched. The process that fetches it has it locked.
type partial struct {
	f    *os.File
	name string

	mu      sync.Mutex
	changed sync.Cond
	done    []bool // by chunk
	err     error  // why no more chunks come
	saved   time.Time
}

// partialState says which chunks a partial file has.
type partialState struct {
	Boot  string `json:"boot"` // of the machine: what the kernel had not written when it stopped is lost
	Size  int64  `json:"size"`
	Chunk int64  `json:"chunk"`
	Done  []bool `json:"done"`
}

const (
	stateSuffix = ".json"
	// statePause is how often the state is written.
	statePause = time.Second
)

// openPartial opens a partial file by its key, and waits until no other process fetches it.
func (c *Cache) openPartial(ctx context.Context, key string) (*partial, error) {
	name := filepath.Join(c.root, partialFolder, key)
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, &diskError{err}
		}
		if err := waitLock(ctx, f, unix.LOCK_EX); err != nil {
			_ = f.Close()
			return nil, err
		}
		opened, err := f.Stat()
		if there, other := os.Stat(name); err == nil && other == nil && os.SameFile(opened, there) {
			p := &partial{f: f, name: name}
			p.changed.L = &p.mu
			return p, nil
		}
		_ = f.Close() // another process has fetched it
	}
}

// close ends the work at the file, and lets others go on with it.
func (p *partial) close() { _ = p.f.Close() }

// remove removes the file and its state.
func (p *partial) remove() {
	_ = os.Remove(p.name + stateSuffix)
	_ = os.Remove(p.name)
}

// begin sets the size of the file, and finds the chunks that it has already. known means that the digest will tell
// whether they are right.
func (p *partial) begin(size, chunk int64, known bool) error {
	p.done = make([]bool, (size+chunk-1)/chunk)
	p.err = nil
	var was partialState
	info, err := p.f.Stat()
	if err != nil {
		return &diskError{err}
	}
	if data, err := os.ReadFile(p.name + stateSuffix); err == nil && json.Unmarshal(data, &was) == nil &&
		was.Size == size && info.Size() == size && was.Chunk == chunk && len(was.Done) == len(p.done) &&
		(known || was.Boot == bootID()) {
		copy(p.done, was.Done)
	} else if err := p.f.Truncate(0); err != nil {
		return &diskError{err}
	}
	if err := p.f.Truncate(size); err != nil {
		return &diskError{fmt.Errorf("make a file of %d bytes: %w", size, err)}
	}
	return nil
}

// finish notes that a chunk is there, and writes the state from time to time.
func (p *partial) finish(chunk int, size, length int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[chunk] = true
	p.changed.Broadcast()
	if time.Since(p.saved) > statePause {
		p.save(size, length)
	}
}

// save writes the state, with the lock held. Without it the next process begins anew.
func (p *partial) save(size, chunk int64) {
	p.saved = time.Now()
	_ = writeJSON(p.name+stateSuffix, partialState{bootID(), size, chunk, p.done})
}

// fail ends the wait for chunks.
func (p *partial) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.changed.Broadcast()
}

// await waits for a chunk.
func (p *partial) await(chunk int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.done[chunk] && p.err == nil {
		p.changed.Wait()
	}
	if p.done[chunk] {
		return nil
	}
	return p.err
}

// bootID names this run of the kernel; "" means unknown.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// diskErrorOf marks an error of a write.
func diskErrorOf(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("the disk is full: %w; free some, run 'pinion weights prune', or name another folder by PINION_CACHE_DIR", err)
	}
	return &diskError{err}
}
