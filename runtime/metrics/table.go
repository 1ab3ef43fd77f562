package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// counter only ever grows.
type counter struct{ atomic.Uint64 }

// table holds a child for each combination of labels. Looking one up takes no lock: the map is copied whenever a key
// is added, which is seldom. The zero value is ready.
type table[K comparable, V any] struct {
	mu  sync.Mutex // held by those who add
	all atomic.Pointer[map[K]*V]
}

// snapshot is the map as it is now, not to be written.
func (t *table[K, V]) snapshot() map[K]*V {
	if m := t.all.Load(); m != nil {
		return *m
	}
	return nil
}

// add returns the child of the key, which it makes where there is none; nil: there are most of them already.
func (t *table[K, V]) add(key K, most int, make func(K) *V) *V {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.snapshot()
	if v := old[key]; v != nil {
		return v
	}
	if len(old) >= most {
		return nil
	}
	m := maps.Clone(old)
	if m == nil {
		m = map[K]*V{}
	}
	v := make(key)
	m[key] = v
	t.all.Store(&m)
	return v
}
