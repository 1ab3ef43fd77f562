package supervise

// Fleet is the state that the workers of one server share.
type Fleet struct {
	turn     chan struct{} // holds a token while a worker is being renewed
	provenBy latch         // closed once any worker was ready, so the model can be set up
	orphans  *Orphans      // may be nil
	memory   memoryGroup
	pids     pidsGroup
	gpu      *gpuErrors
	breaker  *breaker
}

// NewFleet returns a fleet without workers. orphans, if not nil, is told which processes this one waits for.
func NewFleet(orphans *Orphans) *Fleet {
	return &Fleet{
		turn: make(chan struct{}, 1), provenBy: newLatch(), orphans: orphans, memory: findMemoryGroup("/"),
		pids: pidsGroup(findGroup("/", "pids")), gpu: newGPUErrors(), breaker: newBreaker(),
	}
}

func (f *Fleet) proven() bool {
	select {
	case <-f.provenBy.closed:
		return true
	default:
		return false
	}
}
