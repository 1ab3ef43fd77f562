package memory

import "sync/atomic"

// Charge is what one piece of work has of a budget. It counts until its last holder releases it. The zero Charge is of no
// budget; Open gives it one.
type Charge struct {
	budget  *Budget // nil: only counted
	bytes   atomic.Int64
	holders atomic.Int32
}

// Open gives the charge a budget and one holder. It is called once, before anything else.
func (c *Charge) Open(b *Budget) {
	c.budget = b
	c.holders.Store(1)
}

// Bytes is how much is charged.
func (c *Charge) Bytes() int64 { return c.bytes.Load() }

// Grow charges n bytes more, or returns false where they do not fit. Only a holder calls it.
func (c *Charge) Grow(n int64) bool {
	if !c.budget.Take(n, c.bytes.Load()+n) {
		return false
	}
	c.bytes.Add(n)
	return true
}

// Adopt takes over n bytes that Budget.Wait or Budget.Take has counted.
func (c *Charge) Adopt(n int64) { c.bytes.Add(n) }

// Resize makes the charge n bytes: less is always possible, and more is charged even where there is no room, because the
// memory is there already. Only a holder calls it.
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

// Hold adds a holder. Where there was none, the charge counts again.
func (c *Charge) Hold() {
	if c.holders.Add(1) == 1 && c.budget != nil {
		c.budget.used.Add(c.bytes.Load())
	}
}

// Release says that one holder is done. It returns how many bytes that freed: none, while others hold the charge.
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
