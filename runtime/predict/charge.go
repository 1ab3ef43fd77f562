package predict

import "pinion/runtime/rawjson"

const (
	// recordCost is about how many bytes a retained prediction takes besides its input, output and logs: its fields, those
	// of its request, and its registry entries.
	recordCost = 1536
	// startCost is about how many bytes an observed prediction takes at its start: its record and its goroutine.
	startCost = 8 << 10
	// webhookCost is about how many bytes a webhook takes besides its URL: its delivery and the delivery's goroutine.
	webhookCost = 8 << 10
	// chargeStep is the least growth of a charge in bytes, so that not every item of a stream touches the shared budget.
	chargeStep = 16 << 10
)

// Reserve charges what the prediction takes at its start, and takes over its request's charge. It returns false if
// there is no room; the caller then keeps the request's charge. It is called once, before Submit and Run.
func (p *Prediction) Reserve() bool {
	if p.observed {
		cost := int64(startCost)
		if url := p.Request.Webhook; url != "" {
			cost += webhookCost + 2*int64(len(url)) // the request's copy, and that of a try
		}
		if !p.charge.Grow(cost) {
			return false
		}
	}
	p.charge.Adopt(p.Request.Charged)
	p.usage.bytes = p.charge.Bytes()
	return true
}

// Unreserve undoes Reserve and Charge for a prediction that is refused after all.
func (p *Prediction) Unreserve() {
	p.charge.Resize(p.Request.Charged)
	p.charge.Adopt(-p.Request.Charged)
}

// Charge charges n more bytes to the prediction. It returns false if there is no room.
func (p *Prediction) Charge(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chargeLocked(n)
}

// chargeLocked is Charge with the lock held.
func (p *Prediction) chargeLocked(n int) bool {
	missing := p.usage.bytes + int64(n) - p.charge.Bytes()
	if missing > 0 && !p.charge.Grow(max(missing, chargeStep)) && !p.charge.Grow(missing) {
		return false
	}
	p.usage.bytes += int64(n)
	return true
}

// Refund undoes a Charge of n bytes.
func (p *Prediction) Refund(n int) {
	p.mu.Lock()
	p.usage.bytes -= int64(n)
	p.mu.Unlock()
}

func (p *Prediction) Charged() int64 { return p.charge.Bytes() }

// OverBudget reports whether something that the prediction yielded did not fit into the memory budget.
func (p *Prediction) OverBudget() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usage.overBudget
}

// SetOverBudget records that something did not fit into the memory budget. The caller then ends the prediction, which
// fails.
func (p *Prediction) SetOverBudget() {
	p.mu.Lock()
	p.usage.overBudget = true
	p.mu.Unlock()
}

// grow makes room for n more bytes in a part of the record, and charges it. Called with the lock held.
func (p *Prediction) grow(part *[]byte, n int) (fits bool) {
	buf := *part
	least := len(buf) + n
	if least <= cap(buf) {
		return true
	}
	ample := len(buf) + max(min(len(buf), 1<<20), len(buf)/4, 256) // twice as much, later a quarter more
	// Where that does not fit, a sixteenth: less would copy the part for each item while the budget is nearly used up.
	for _, size := range [...]int{max(least, ample), max(least, len(buf)+len(buf)/16)} {
		if p.chargeLocked(size - cap(buf)) {
			*part = append(make([]byte, 0, size), buf...)
			return true
		}
	}
	return false
}

// compact reduces an ended, observed prediction to what GET shows, in one allocation, and returns its size in bytes. It
// returns 0 for predictions that it does not compact. first means that it was not compacted before. Called with the
// lock held, after the last use of the record.
func (p *Prediction) compact() (bytes int64, first bool) {
	rec, req := &p.record, &p.Request
	if p.usage.compacted > 0 || !p.observed || !rec.Status.Terminal() {
		return p.usage.compacted, false
	}
	if p.registry == nil || p.registry.ttl < 0 {
		p.usage.dropped = true
		return 0, false
	}
	most := p.registry.all.retention.Bytes
	if rec.Status != Succeeded && len(rec.Output) > most/2 {
		rec.Output = nil // its error stays readable
	}
	parts := [...]*[]byte{&req.Input, &rec.Output, &rec.Logs, &rec.Metrics}
	size := 0
	for _, part := range parts {
		size += len(*part)
	}
	p.usage.compacted = int64(recordCost + size + p.CallsSize() + len(rec.Error) + 2*len(p.id) +
		len(req.CreatedText) + len(req.TraceParent))
	if p.usage.compacted > int64(most) { // the registry will not retain it
		p.usage.dropped = true
		return p.usage.compacted, true
	}
	whole := make([]byte, 0, size)
	for _, part := range parts {
		if *part != nil {
			at := len(whole)
			whole = append(whole, *part...)
			*part = whole[at:len(whole):len(whole)]
		}
	}
	// Not the whole request: readers that just found the prediction in the registry may read its small fields.
	req.Lists, req.Context, req.Body, req.Form, req.Attachments = rawjson.Lists{}, nil, nil, nil, nil
	req.Webhook, req.OutputPrefix, req.TraceState = "", "", ""
	p.Warnings = nil
	return p.usage.compacted, true
}
