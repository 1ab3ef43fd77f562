package modelhost

import (
	"context"
	"errors"
	"slices"
	"time"
)

// makeRoom unloads models until m fits beside those that stay, but none whose turn ends before waits. The caller calls
// leave once the model counts as loading.
func (h *Host) makeRoom(ctx context.Context, m *Model, waits time.Time) (leave func(), err error) {
	select {
	case h.evicting <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-h.evicting }
	if err := h.evict(ctx, m, m.need(), waits); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// evict unloads the least recently used models that are idle, until there is room for what m needs beside the others.
// Those whose turn ends before waits stay. It is called with the token of evicting.
func (h *Host) evict(ctx context.Context, m *Model, need int64, waits time.Time) error {
	for {
		names, err := chooseEvicted(m.Name, need, h.limit.Load(), h.holders(waits))
		if err != nil {
			return err
		}
		again := false
		for _, other := range h.o.Models() {
			if !slices.Contains(names, other.Name) {
				continue
			}
			if state, _ := other.Lifecycle.State(); state == Unloaded {
				other.dropSetup()
				continue
			}
			if !other.Lifecycle.unloadIfIdle(other.Lifecycle.lastUse(), false) {
				again = true // a request came for it
				break
			}
			other.Log.Info("the model is unloaded to make room", "for", m.Name)
			if err := other.Lifecycle.Unload(ctx, false); err != nil && !errors.Is(err, ErrClosed) {
				return err
			}
		}
		if !again {
			return nil
		}
	}
}

// shrink makes room after a model has been loaded that has more memory than was known before.
func (h *Host) shrink(m *Model) {
	h.evicting <- struct{}{}
	defer func() { <-h.evicting }()
	if err := h.evict(context.Background(), m, m.memory(), time.Time{}); err != nil {
		h.o.Logger.Warn("the loaded models use more memory than they may have together", "error", err)
	}
}

// holders returns the models that have memory, or are about to. Those whose turn ends before waits are kept.
func (h *Host) holders(waits time.Time) (holders []Holder) {
	for _, m := range h.o.Models() {
		state, _ := m.Lifecycle.State()
		if state == Unloaded {
			if setup := m.memory(); setup > 0 {
				holders = append(holders, Holder{Name: m.Name, Memory: setup, Idle: true, Used: m.Lifecycle.lastUse()})
			}
			continue
		}
		of := Holder{
			Name: m.Name, Memory: max(m.memory(), int64(m.s.Loading.Memory)), Idle: state == Ready && m.Lifecycle.isIdle(),
			Used: m.Lifecycle.lastUse(), Ends: m.Lifecycle.ends(),
		}
		if of.Idle && of.Ends {
			of.Kept = m.Lifecycle.isKept(waits)
			of.Idle = !of.Kept
		}
		holders = append(holders, of)
	}
	return holders
}

// memory returns what the model's processes have now, in bytes.
func (m *Model) memory() (bytes int64) {
	set := m.workers.current()
	for _, w := range set.supervisors {
		bytes += w.MemoryShare()
	}
	return bytes + set.preloader.MemoryShare()
}

// need returns the memory that the model needs, in bytes; 0 means it is not known yet.
func (m *Model) need() int64 {
	if declared := int64(m.s.Loading.Memory); declared > 0 {
		return declared
	}
	m.Lifecycle.mu.Lock()
	defer m.Lifecycle.mu.Unlock()
	return m.Lifecycle.need
}
