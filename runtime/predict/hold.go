package predict

import "slices"

// OnRelease registers a cleanup for the last Release (of a folder or a mapping). Cleanups run last in, first out.
func (p *Prediction) OnRelease(f func()) {
	p.mu.Lock()
	p.release = append(p.release, f)
	p.mu.Unlock()
}

// Hold adds a hold, for which one more Release is due.
func (p *Prediction) Hold() {
	p.mu.Lock()
	p.hold()
	p.mu.Unlock()
}

// hold is Hold with the lock held.
func (p *Prediction) hold() {
	if p.holds++; p.holds == 1 { // it was retained, and is being read
		p.charge.Hold()
	}
}

// TryHold adds a hold to a prediction that was found in the registry. It returns false if its memory is already
// freed.
func (p *Prediction) TryHold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.usage.dropped {
		p.hold()
	}
	return !p.usage.dropped
}

// Release ends one hold; the caller must not read the Record afterwards. The last Release frees what the prediction
// holds.
func (p *Prediction) Release() {
	p.mu.Lock()
	if p.holds--; p.holds != 0 {
		p.mu.Unlock()
		return
	}
	cleanups := p.release
	p.release, p.runner, p.events.feed, p.events.observers = nil, nil, nil, nil // the record may be retained for long
	bytes, first := p.compact()
	p.mu.Unlock()
	for _, cleanup := range slices.Backward(cleanups) {
		cleanup()
	}
	if bytes > 0 {
		p.charge.Resize(bytes)
	}
	if first {
		p.registry.retainReleased(p, int(bytes))
	}
	p.charge.Release()
}
