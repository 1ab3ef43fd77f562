package store

// Slot is a place in which a server runs a job.
type Slot interface {
	// Version of the model that runs there; "" means the model has no versions.
	Version() string
	// Release gives back a slot that no Run has used.
	Release()
}
