package consume

// Slot is the capacity to run one job.
type Slot interface {
	// Version of the model that runs there; "" means the model has no versions.
	Version() string
	// Release gives back a slot that no Run has used.
	Release()
}
