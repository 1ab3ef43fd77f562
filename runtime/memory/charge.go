package memory

import "sync/atomic"

// Charge is what one piece of work uses of a budget, until its last holder releases it. Open it first.
type Charge struct {
	budget  *Budget // nil means only counted
	bytes   atomic.Int64
	holders atomic.Int32
}

// Open gives the charge a budget and one holder. Call it once, first.
func (c *Charge) Open(b *Budget) {
	c.budget = b
	c.holders.Store(1)
}

// Bytes returns how much is charged.
func (c *Charge) Bytes() int64 { return c.bytes.Load() }

// Grow charges n more bytes; false means they do not fit. Only a holder may call it.
func (c *Charge) Grow(n int64) bool {
	if !c.budget.Take(n, c.bytes.Load()+n) {
		return false
	}
	c.bytes.Add(n)
	return true
}

// Adopt takes over n bytes that Budget.Wait or Budget.Take has charged.
func (c *Charge) Adopt(n int64) { c.bytes.Add(n) }

// Resize sets the charge to n bytes. It never fails: if it grows, the memory is allocated already. Only a holder may
// call it.
func (c *Charge) Resize(n int64) {
	before := c.bytes.Swap(n)
	switch {
	case c.budget == nil || n == before:
	case n < before:
		c.budget.Free(before - n)
	default:
		c.budget.used.Add(n - before)
	}
}

// Hold adds a holder. The first one charges the bytes again.
func (c *Charge) Hold() {
	if c.holders.Add(1) == 1 && c.budget != nil {
		c.budget.used.Add(c.bytes.Load())
	}
}

// Release removes a holder. It returns how many bytes that freed: 0 while there are others.
func (c *Charge) Release() int64 {
	if c.holders.Add(-1) > 0 {
		return 0
	}
	n := c.bytes.Load()
	if c.budget != nil && n > 0 {
		c.budget.Free(n)
	}
	return n
}
