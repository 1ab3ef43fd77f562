package predict

import "pinion/runtime/rawjson"

const (
	// recordCost is about how many bytes a kept prediction takes beside what its clients and its model wrote: its own fields,
	// those of its request, and its places in the registry.
	recordCost = 1536
	// startCost is what a prediction takes that may be followed, before it has done anything: its record, and the goroutine
	// that carries it out.
	startCost = 8 << 10
	// chargeStep is by how many bytes the charge of a prediction grows at the least, so that not each item of a stream touches
	// what all predictions share.
	chargeStep = 16 << 10
)

// Take charges what the prediction takes from its beginning: what its request was charged for becomes its own. It returns
// false where there is no room; then the request's charge stays its caller's. It is called once, before the prediction is
// carried out.
func (p *Prediction) Take() bool {
	if p.told && !p.charge.Grow(startCost) {
		return false
	}
	p.charge.Adopt(p.Request.Charged)
	p.spent = p.charge.Bytes()
	return true
}

// GiveBack takes back what Take and Afford have charged, where the prediction is not taken in after all.
func (p *Prediction) GiveBack() {
	p.charge.Resize(p.Request.Charged)
	p.charge.Adopt(-p.Request.Charged)
}

// Afford charges n bytes more that are held for the prediction; false: there is no room for them.
func (p *Prediction) Afford(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.afford(n)
}

// afford is Afford. Called with the lock held.
func (p *Prediction) afford(n int) bool {
	missing := p.spent + int64(n) - p.charge.Bytes()
	if missing > 0 && !p.charge.Grow(max(missing, chargeStep)) && !p.charge.Grow(missing) {
		return false
	}
	p.spent += int64(n)
	return true
}

// Refund takes back what Afford has charged.
func (p *Prediction) Refund(n int) {
	p.mu.Lock()
	p.spent -= int64(n)
	p.mu.Unlock()
}

// Held is how many bytes are charged for the prediction.
func (p *Prediction) Held() int64 { return p.charge.Bytes() }

// Overran tells whether something that the prediction yielded did not fit into the memory budget.
func (p *Prediction) Overran() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.overrun
}

// Overrun notes that something of the prediction did not fit into the memory budget: it is to be ended, and fails.
func (p *Prediction) Overrun() {
	p.mu.Lock()
	p.overrun = true
	p.mu.Unlock()
}

// growOutput makes room for n more bytes of output. Called with the lock held.
func (p *Prediction) growOutput(n int) (fits bool) {
	p.record.Output, fits = p.grow(p.record.Output, n)
	return fits
}

// growLogs makes room for n more bytes of logs. Called with the lock held.
func (p *Prediction) growLogs(n int) (fits bool) {
	p.record.Logs, fits = p.grow(p.record.Logs, n)
	return fits
}

// grow is buf with room for n more bytes, which are charged. Where that is too much it is buf itself. Called with the lock held.
func (p *Prediction) grow(buf []byte, n int) ([]byte, bool) {
	least := len(buf) + n
	if least <= cap(buf) {
		return buf, true
	}
	ample := len(buf) + max(min(len(buf), 1<<20), len(buf)/4, 256) // twice as much, later a quarter more
	for _, size := range [...]int{max(least, ample), least} {
		if p.afford(size - cap(buf)) {
			return append(make([]byte, 0, size), buf...), true
		}
	}
	return buf, false
}

// compact leaves of an ended prediction that may be asked for what GET shows, in one piece of memory, and returns how many
// bytes that is; 0: it is not kept after its last Release, or as it is. first: it was not compact before. Called with the lock
// held, when nobody uses the record any more.
func (p *Prediction) compact() (bytes int64, first bool) {
	rec := &p.record
	if p.compacted > 0 || !p.told || !rec.Status.Terminal() {
		return p.compacted, false
	}
	if p.registry == nil || p.registry.keep.TTL < 0 {
		p.gone = true
		return 0, false
	}
	most := p.registry.keep.Bytes
	if rec.Status != Succeeded && len(rec.Output) > most/2 {
		rec.Output = nil // its error is to be found, at least
	}
	parts := [...]*[]byte{&p.Request.Input, &rec.Output, &rec.Logs, &rec.Metrics}
	size := 0
	for _, part := range parts {
		size += len(*part)
	}
	p.compacted = int64(recordCost + size + len(rec.Error) + 2*len(rec.ID) + len(rec.CreatedText))
	if p.compacted > int64(most) { // the registry will not keep it
		p.gone = true
		return p.compacted, true
	}
	whole := make([]byte, 0, size)
	for _, part := range parts {
		if *part != nil {
			at := len(whole)
			whole = append(whole, *part...)
			*part = whole[at:len(whole):len(whole)]
		}
	}
	// Not the whole: others may read the small fields of what they have just found in the registry.
	req := &p.Request
	req.Lists, req.Context, req.Body, req.Form, req.Attachments = rawjson.Lists{}, nil, nil, nil, nil
	req.Webhook, req.OutputPrefix, req.TraceParent, req.TraceState = "", "", "", ""
	p.Warnings = nil
	return p.compacted, true
}

// Look holds the prediction for somebody who has found it in the registry; false: what it held is gone.
func (p *Prediction) Look() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.hold()
	}
	return !p.gone
}

// Input is the input as its client sent it.
func (p *Prediction) Input() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Request.Input
}
