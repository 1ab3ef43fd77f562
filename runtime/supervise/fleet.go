package supervise

import "sync"

// Fleet is what the workers of one server have in common. A nil *Orphans is allowed.
type Fleet struct {
	turn     chan struct{} // has room for the one that is being renewed
	provenBy chan struct{} // closed once a worker was ready
	once     sync.Once
	orphans  *Orphans
	memory   memoryGroup
	gpu      *gpuJudge
}

// NewFleet makes a fleet of no workers. orphans, where it is not nil, is told which processes are ours.
func NewFleet(orphans *Orphans) *Fleet {
	return &Fleet{
		turn: make(chan struct{}, 1), provenBy: make(chan struct{}), orphans: orphans, memory: findMemoryGroup("/"),
		gpu: newGPUJudge(),
	}
}

// prove is told that a worker is ready: the model can be set up.
func (f *Fleet) prove() { f.once.Do(func() { close(f.provenBy) }) }

func (f *Fleet) proven() bool {
	select {
	case <-f.provenBy:
		return true
	default:
		return false
	}
}
