package server

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"pinion/runtime/loading"
)

// room is the memory that the loaded models may have together.
type room struct {
	bound atomic.Int64  // 0: any
	turn  chan struct{} // holds a token while room is made for a model, or shared out
}

// makeRoom unloads models until one fits beside those that stay. leave follows once the model counts as loading.
func (f *Server) makeRoom(ctx context.Context, m *servedModel) (leave func(), err error) {
	select {
	case f.room.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-f.room.turn }
	if err := f.evict(ctx, m, m.need()); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// evict unloads the least recently used models that are idle, until there is room for what m needs beside the others.
// It is called with the turn.
func (f *Server) evict(ctx context.Context, m *servedModel, need int64) error {
	for {
		names, err := loading.MakeRoom(m.name, need, f.room.bound.Load(), f.holders())
		if err != nil {
			return err
		}
		again := false
		for _, other := range f.models.everyone() {
			if !slices.Contains(names, other.name) {
				continue
			}
			if !other.life.unloadIfIdle(other.life.lastUse()) {
				again = true // a request came for it
				break
			}
			other.log.Info("the model is unloaded to make room", "for", m.name)
			if err := other.life.unload(ctx, false); err != nil && !errors.Is(err, errClosed) {
				return err
			}
		}
		if !again {
			return nil
		}
	}
}

// shrink makes room after a model has been loaded that has more memory than was known before.
func (f *Server) shrink(m *servedModel) {
	f.room.turn <- struct{}{}
	defer func() { <-f.room.turn }()
	if err := f.evict(context.Background(), m, m.memory()); err != nil {
		f.log.Warn("the loaded models have more memory than they may have together", "error", err)
	}
}

// holders are the models that have memory, or are about to.
func (f *Server) holders() (holders []loading.Holder) {
	for _, m := range f.models.everyone() {
		state, _ := m.life.standing()
		if state == loading.Unloaded {
			continue
		}
		holders = append(holders, loading.Holder{
			Name: m.name, Memory: max(m.memory(), int64(m.s.Loading.Memory)), Idle: state == loading.Ready && m.life.rests(),
			Used: m.life.lastUse(),
		})
	}
	return holders
}

// memory is what the model's workers have now, in bytes.
func (m *servedModel) memory() (bytes int64) {
	for _, w := range m.workers.current().all {
		bytes += w.Report().Memory
	}
	return bytes
}

// need is the memory that the model needs, in bytes; 0: it is not known yet.
func (m *servedModel) need() int64 {
	if declared := int64(m.s.Loading.Memory); declared > 0 {
		return declared
	}
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	return m.life.need
}
