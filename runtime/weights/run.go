package weights

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options says how weights are fetched.
type Options struct {
	Folder    string // of the model, absolute
	Cache     *Cache
	Env       func(string) string
	Log       *slog.Logger
	UserAgent string
	// Timeout bounds the whole; 0 means any time.
	Timeout time.Duration
	// ForLock means that targets are left alone, and that only files whose digests no source tells are fetched.
	ForLock bool
	// Into means that targets are for other processes, of containers that mount them: all markers are written, and nothing
	// leads out of a target.
	Into bool
}

// Run is one fetch of a model's weights.
type Run struct {
	list   []Weight
	plans  []plan
	done   chan struct{}
	err    error
	cancel context.CancelFunc
	hold   *Hold
	closed atomic.Bool

	bytes   atomic.Int64 // that are there
	total   atomic.Int64
	files   atomic.Int64 // that are there
	ofFiles atomic.Int64

	mu   sync.Mutex
	last sample
}

// sample is how many bytes there were at a time, and the rate until then.
type sample struct {
	at    time.Time
	bytes int64
	rate  float64
}

// Progress is how far a run is.
type Progress struct {
	Done, Total int64 // bytes
	Files       int   // that are there
	OfFiles     int
	Rate        float64 // bytes a second, lately
}

// ratePause is how long a rate is measured.
const ratePause = 500 * time.Millisecond

// Progress returns how far the run is. Total and OfFiles grow until all sources were asked.
func (r *Run) Progress() Progress {
	p := Progress{Done: r.bytes.Load(), Files: int(r.files.Load()), OfFiles: int(r.ofFiles.Load())}
	p.Total = max(r.total.Load(), p.Done)
	r.mu.Lock()
	defer r.mu.Unlock()
	if passed := time.Since(r.last.at); passed >= ratePause {
		r.last = sample{time.Now(), p.Done, float64(max(p.Done-r.last.bytes, 0)) / passed.Seconds()}
	}
	p.Rate = r.last.rate
	return p
}

// Done returns a channel that is closed when the weights are there, or cannot be.
func (r *Run) Done() <-chan struct{} { return r.done }

// Err returns why the weights are not there, once the run is done.
func (r *Run) Err() error {
	if r.Ended() {
		return r.err
	}
	return nil
}

// Ended reports whether the run has ended.
func (r *Run) Ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Failed reports whether the run has ended without the weights.
func (r *Run) Failed() bool { return r.Err() != nil }

// Close ends the run, and the protection of its files from prune. What was not there is not reported.
func (r *Run) Close() {
	r.closed.Store(true)
	r.cancel()
	<-r.done
	r.hold.Close()
}

// Start fetches weights and places them. there is called for each of them when it is there, or when it will not be.
func Start(o Options, list []Weight, there func(*Weight, error)) *Run {
	ctx, cancel := context.WithCancel(context.Background())
	if o.Timeout > 0 {
		late := fmt.Errorf("they were not there within %s", o.Timeout)
		ctx, cancel = context.WithTimeoutCause(context.Background(), o.Timeout, late)
	}
	r := &Run{list: list, done: make(chan struct{}), cancel: cancel, last: sample{at: time.Now()}}
	f := &fetcher{o: o, run: r, client: newClient(o.UserAgent), turns: make(chan struct{}, parallel)}
	go func() {
		defer close(r.done)
		defer cancel()
		defer f.client.http.Close()
		r.err = f.all(ctx, there)
	}()
	return r
}

// Lock returns a lock of the weights, once a run for it is done. Entries of an old lock that say the same are kept.
func (r *Run) Lock(old *Lock) *Lock {
	l := &Lock{Version: lockVersion, Weights: []Locked{}}
	if old != nil {
		l.EnvelopeFormat = old.EnvelopeFormat
	}
	now := time.Now().UTC().Truncate(time.Second)
	for i := range r.plans {
		e := r.plans[i].lock(old.Find(r.plans[i].w.Name), now)
		if len(e.Layers) == 0 {
			l.EnvelopeFormat = ""
		}
		l.Weights = append(l.Weights, e)
	}
	return l
}

// Fail returns a run that has ended with an error.
func Fail(list []Weight, err error, there func(*Weight, error)) *Run {
	r := &Run{list: list, done: make(chan struct{}), cancel: func() {}, err: err}
	for i := range list {
		there(&list[i], err)
	}
	close(r.done)
	return r
}

// fetcher does the work of a run.
type fetcher struct {
	o      Options
	run    *Run
	client *client
	turns  chan struct{} // holds a token for each file that is being fetched
}

// plan is what one of the weights needs.
type plan struct {
	w        *Weight
	provided bool // somebody else has put it at its target
	files    []planned
	err      error
	unpacked bool // files are those of archives
	awaited  bool // another program brings them

	fingerprints []string // of the sources
}

// planned is a file of a plan.
type planned struct {
	entry
	source *Source
}

// all fetches all weights at once. It returns the first error, in the order of the list.
func (f *fetcher) all(ctx context.Context, there func(*Weight, error)) error {
	plans := make([]plan, len(f.run.list))
	f.run.plans = plans
	hold, err := f.o.Cache.hold(nil)
	f.run.hold = hold
	var working sync.WaitGroup
	for i := range f.run.list {
		plans[i].w = &f.run.list[i]
		working.Go(func() { plans[i].find(ctx, f) })
	}
	working.Wait()
	if err == nil {
		err = f.prepare(plans)
	}
	if err != nil {
		for i := range plans {
			plans[i].err = errors.Join(plans[i].err, err)
		}
	}
	for i := range plans {
		p := &plans[i]
		working.Go(func() {
			switch {
			case p.err == nil && p.awaited:
				if p.err = f.await(ctx, p.w); p.err == nil {
					f.run.files.Add(1)
				}
			case p.err == nil && !p.provided:
				p.err = f.fetch(ctx, p)
			}
			if p.err != nil {
				if _, is := readMarker(p.w, markReady); f.o.Into && !is && !f.run.closed.Load() {
					p.err = errors.Join(p.err, f.placement(p.w).mark(markFailed, p.err.Error()))
				}
				p.err = &Error{p.w.Name, p.w.Line, p.err}
			}
			if !f.run.closed.Load() {
				there(p.w, p.err)
			}
		})
	}
	working.Wait()
	for _, p := range plans {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// find finds what is to be done.
func (p *plan) find(ctx context.Context, f *fetcher) {
	if p.awaited = f.isAwaited(p.w); p.awaited {
		f.run.ofFiles.Add(1)
		return
	}
	if f.o.ForLock || f.o.Into {
		p.err = f.plan(ctx, p)
		return
	}
	if p.provided, p.err = f.isProvided(p.w); p.provided {
		f.o.Log.Info("weights are at their target already, and are left as they are", "weights", p.w.Name, "target",
			p.w.Target)
		return
	}
	if p.err != nil {
		return
	}
	if p.err = f.plan(ctx, p); p.err != nil && ctx.Err() == nil && f.o.Cache.isReadyOfOther(p.w) {
		f.o.Log.Warn("the sources of weights cannot be asked: what is at their target is used", "weights", p.w.Name, "target",
			p.w.Target, "error", p.err)
		p.err, p.provided = nil, true
	}
}

// prepare protects the files that the cache has, and checks that there is room for the others.
func (f *fetcher) prepare(plans []plan) error {
	var known []File
	for _, p := range plans {
		for _, e := range p.files {
			f.run.total.Add(max(e.Size, 0))
			f.run.ofFiles.Add(1)
			if e.Digest != "" {
				known = append(known, e.File)
			}
		}
	}
	if err := f.o.Cache.extend(f.run.hold, known); err != nil {
		return fmt.Errorf("protect the files of the cache: %w; PINION_CACHE_DIR names another folder", err)
	}
	missing := map[string]int64{} // sizes by digest, or by place
	for _, p := range plans {
		for _, e := range p.files {
			if !f.o.Cache.has(e.Digest, e.Size) && !f.isKnown(p.w, &e) {
				missing[cmp.Or(e.Digest, p.w.Name+"/"+e.Path)] = max(e.Size, 0)
			}
		}
	}
	needed := int64(0)
	for _, size := range missing {
		needed += size
	}
	if free, err := room(f.o.Cache.root); err == nil && needed > free {
		return fmt.Errorf("the disk is too small: %s are to be fetched into %s, which has room for %d; free some, or set "+
			"PINION_CACHE_DIR", bytesText(needed), f.o.Cache.root, free)
	}
	return nil
}

// plan finds the files of a weight. Of two with one path, that of the later source counts.
func (f *fetcher) plan(ctx context.Context, p *plan) (err error) {
	w, lock := p.w, p.w.Lock
	if f.o.ForLock {
		lock = nil
	}
	inCache := lock != nil && f.o.Cache.hasHeld(f.run.hold, lock.files())
	byPath := map[string]planned{}
	for i := range w.Sources {
		if inCache {
			break
		}
		s := &w.Sources[i]
		if lock != nil && i < len(lock.AllSources()) {
			pinned := *s
			if commit, is := strings.CutPrefix(lock.AllSources()[i].Fingerprint, "commit:"); is {
				pinned.commit = commit
			}
			s = &pinned
		}
		l, err := f.list(ctx, s)
		if err != nil {
			return err
		}
		p.fingerprints = append(p.fingerprints, l.Fingerprint)
		left := 0
		for _, e := range l.Files {
			if !s.Includes(e.Path) {
				continue
			}
			left++
			if earlier, is := byPath[e.Path]; is {
				f.o.Log.Info("a file of weights comes from the later of two sources", "weights", w.Name, "file", e.Path,
					"source", s.shown(), "not", earlier.source.shown())
			}
			f.o.Cache.complete(&e)
			byPath[e.Path] = planned{e, s}
		}
		if left == 0 {
			return fmt.Errorf("%s: it has %d files, and include and exclude leave none", s.shown(), len(l.Files))
		}
	}
	switch {
	case inCache:
		p.files, err = lock.locked(f.o.Cache, byPath)
		p.unpacked = w.Unpack
		return err
	case lock != nil && !w.Unpack: // else what is unpacked must be that of the lock
		p.files, err = lock.locked(f.o.Cache, byPath)
		return err
	}
	if w.SHA256 != "" && len(byPath) != 1 {
		return fmt.Errorf("sha256 is for one file, and there are %d", len(byPath))
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		e := byPath[path]
		if w.SHA256 != "" {
			e.Digest = digestPrefix + w.SHA256 // what is known of the source may be old
		}
		if files := f.o.Cache.unpacked(f.run.hold, e.File); w.Unpack && len(byPath) == 1 && files != nil {
			p.unpacked = true
			for _, file := range files {
				p.files = append(p.files, planned{entry{File: file}, e.source})
			}
			return nil
		}
		p.files = append(p.files, e)
	}
	return nil
}

// list asks a source what it has. One that cannot be asked has what it had, and one that never changes need not be
// asked.
func (f *fetcher) list(ctx context.Context, s *Source) (l listing, err error) {
	was := listing{}
	if s.scheme() != "file" {
		if was = f.o.Cache.remembered(s); !f.isThere(s, was) && s.isHub() {
			was = f.listSnapshot(s)
		}
	}
	there := f.isThere(s, was)
	if there && s.isHub() {
		if _, revision, _ := hubRepo(s.URI); f.isOffline() || isCommit(cmp.Or(s.commit, revision)) {
			return was, nil
		}
	}
	l, err = f.ask(ctx, s)
	for i := range l.Files {
		if wrong := checkPath(l.Files[i].Path); wrong != nil && err == nil {
			return listing{}, wrong
		}
	}
	switch {
	case s.scheme() == "file":
		return l, err
	case err == nil:
		f.o.Cache.rememberListing(s, l)
		return l, nil
	case ctx.Err() != nil || !there:
		return listing{}, err
	}
	f.o.Log.Warn("a source of weights cannot be asked: what it had is used, from the cache", "source", s.shown(),
		"error", err)
	return was, nil
}

// isThere reports whether all files of a listing that count are on this machine.
func (f *fetcher) isThere(s *Source, l listing) bool {
	return len(l.Files) > 0 && !slices.ContainsFunc(l.Files, func(e entry) bool {
		return s.Includes(e.Path) && e.local == "" && !f.o.Cache.has(e.Digest, e.Size)
	})
}

// fetch fetches the files of a weight, many at once, and places them.
func (f *fetcher) fetch(ctx context.Context, p *plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if place := f.placement(p.w); f.o.Into && !place.isMarkedReady(p.files) {
		if err := place.mark(markDownloading, ""); err != nil {
			return err
		}
	}
	files := make([]File, len(p.files))
	var fetching sync.WaitGroup
	for i := range p.files {
		fetching.Go(func() {
			select {
			case f.turns <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-f.turns }()
			got, err := f.file(ctx, p.w, &p.files[i])
			if err != nil {
				cancel(err)
				return
			}
			f.run.files.Add(1)
			files[i], p.files[i].File = got, got
		})
	}
	fetching.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.w.Unpack && !p.unpacked {
		var err error
		if files, err = f.unpack(ctx, files); err != nil {
			return err
		}
		source := p.files[0].source
		p.files = p.files[:0]
		for _, file := range files {
			p.files = append(p.files, planned{entry{File: file}, source})
		}
	}
	if f.o.ForLock {
		return nil
	}
	if lock := p.w.Lock; lock != nil && SetDigest(files) != lock.SetDigest {
		return &wrongError{LockFile + ": what was unpacked", "setDigest", lock.SetDigest, SetDigest(files), false}
	}
	return f.placement(p.w).run(ctx, files)
}

func (f *fetcher) placement(w *Weight) *placement {
	return &placement{cache: f.o.Cache, log: f.o.Log, w: w, into: f.o.Into}
}

// isKnown reports whether a lock needs no more of a file than what its source tells.
func (f *fetcher) isKnown(w *Weight, e *planned) bool {
	return f.o.ForLock && !w.Unpack && e.Digest != "" && e.Size >= 0
}

// file brings one file into the cache, unless it is there.
func (f *fetcher) file(ctx context.Context, w *Weight, e *planned) (File, error) {
	if f.isKnown(w, e) {
		f.run.bytes.Add(e.Size)
		return e.File, nil
	}
	if f.o.Cache.has(e.Digest, e.Size) {
		f.o.Cache.use(e.Digest)
		f.run.bytes.Add(max(e.Size, 0))
		if e.Size < 0 {
			return f.sized(e.File)
		}
		return e.File, nil
	}
	if e.local != "" {
		got, err := f.copyIn(ctx, e)
		if err == nil || e.object == nil || ctx.Err() != nil {
			return got, err
		}
		f.o.Log.Warn("a file of another cache is not used", "file", e.local, "error", err)
	}
	if e.object == nil {
		return File{}, fmt.Errorf("%s: %s is not in the cache, and the source cannot be asked", e.source.shown(), e.Path)
	}
	d := &download{
		cache: f.o.Cache, client: f.client, hold: f.run.hold, o: e.object, key: e.Key, want: e.File, count: &f.run.bytes,
	}
	return d.run(ctx)
}
