package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// counter never falls.
type counter struct{ atomic.Uint64 }

// table has an entry for each combination of labels. A lookup takes no lock, because the map is copied when a key is
// added, which is rare. The zero value is ready.
type table[K comparable, V any] struct {
	mu      sync.Mutex // held during add
	entries atomic.Pointer[map[K]*V]
}

// snapshot returns the current map: do not write to it.
func (t *table[K, V]) snapshot() map[K]*V {
	if m := t.entries.Load(); m != nil {
		return *m
	}
	return nil
}

// add returns the key's entry, and makes it if needed: by fresh, or zero without fresh, or nil if the table is full.
func (t *table[K, V]) add(key K, most int, fresh func(K) *V) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.snapshot()
	if v := old[key]; v != nil {
		return v
	}
	if len(old) >= most {
		return nil
	}
	m := make(map[K]*V, len(old)+1)
	maps.Copy(m, old)
	v := new(V)
	if fresh != nil {
		v = fresh(key)
	}
	m[key] = v
	t.entries.Store(&m)
	return v
}

// keep drops the entries of all other keys.
func (t *table[K, V]) keep(which func(K) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := maps.Clone(t.snapshot())
	maps.DeleteFunc(m, func(key K, _ *V) bool { return !which(key) })
	t.entries.Store(&m)
}
