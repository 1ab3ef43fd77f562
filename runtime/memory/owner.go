package memory

// Owner is what bytes belong to, as those of a prediction's record. What uses them last releases it, once.
type Owner interface{ Release() }

// Taken is an Owner of bytes of a budget.
type Taken struct {
	Budget *Budget
	Bytes  int64
}

// Release frees the bytes.
func (t *Taken) Release() { t.Budget.Free(t.Bytes) }
