package resources

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"pinion/runtime/memory"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// memoryShare is the front's part of the memory that it and its workers may have: near it, Go's collector
// works harder rather than let the heap grow. It is soft: nothing fails above it.
const memoryShare = 2 // one half

const (
	// besideBudget is what the front may have beside twice its budget, in bytes, for connections and itself.
	besideBudget = 128 << 20
	// besideHeap is the part of it that Go's limit does not count: the pages of the binary, about 25 MiB, and what the
	// heap grows by above a limit that is soft.
	besideHeap = 40 << 20
)

// ApplyMemoryLimit sets Go's soft limit by the memory budget and the control group's limit, unless GOMEMLIMIT says
// otherwise; asked is the budget that was asked for, or 0. It returns what it set, or 0.
//
// Without a limit, the heap grows to twice what was in use when the collector began, and while it works to far more: on
// a machine without a free CPU, to ten times the budget.
func ApplyMemoryLimit(asked int64) int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	budget := budgetSize(asked)
	soft := 2*budget + besideBudget - besideHeap
	if limit := supervise.MemoryLimit(); limit > 0 {
		soft = min(soft, max(limit/memoryShare, budget+budget/4)) // or it would collect all the time
	}
	debug.SetMemoryLimit(soft)
	return soft
}

const (
	// budgetShare is the memory budget's part of the memory that the front and its workers may have. Go's collector
	// lets the heap become twice as large as what is in use: so the front stays within its half.
	budgetShare = 4
	// largestBudget bounds the default budget, in bytes.
	largestBudget = 1 << 30
)

// NewBudget makes the memory budget; asked is its size in bytes, 0: a quarter of the control group's limit, or where it
// has none of the machine's memory, and no more than largestBudget.
func NewBudget(asked int64) *memory.Budget { return memory.New(budgetSize(asked)) }

func budgetSize(asked int64) int64 {
	if asked > 0 {
		return asked
	}
	limit := supervise.MemoryLimit()
	if limit <= 0 {
		var info unix.Sysinfo_t
		if unix.Sysinfo(&info) != nil {
			return largestBudget
		}
		limit = int64(info.Totalram) * int64(info.Unit)
	}
	return min(limit/budgetShare, largestBudget)
}

const (
	// maxConnections is the largest limit of open connections.
	maxConnections = 16384
	// minConnections is the smallest, unless the process may open fewer than twice as many descriptors.
	minConnections = 64
)

// ConnectionLimit returns how many connections may be open at once: three quarters of the descriptors that the process
// may open, less 256. The rest is for workers, files, webhooks and logs. Go has raised the soft limit of descriptors to
// the hard one.
func ConnectionLimit() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return maxConnections
	}
	return connectionsFor(limit.Cur)
}

func connectionsFor(descriptors uint64) int {
	if descriptors >= 2*maxConnections {
		return maxConnections
	}
	n := int(descriptors)
	return min(maxConnections, max(n-n/4-256, min(minConnections, n/2)))
}

// Cores is for how many CPUs there is time.
func Cores() int {
	n := runtime.GOMAXPROCS(0)
	if limit := supervise.CPULimit(); limit > 0 {
		n = min(n, int(limit))
	}
	return n
}

// BusyPolling says who may busy-poll: the front if a CPU is left for a worker, and the workers if each has a CPU and
// one is left for the front.
func BusyPolling(wanted bool, workers, cores int) slot.BusyPoll {
	if !wanted {
		return slot.BusyPoll{}
	}
	return slot.BusyPoll{Front: cores > 1, Workers: cores > workers, Pressure: supervise.CPUPressure()}
}

// spareThreads is how many threads the front has beyond those that it uses, where their number is limited.
const spareThreads = 8

// ReserveThreads makes threads that Go keeps for later where the control group limits their number (pids.max). Go ends
// the process if it needs another one when the limit is reached.
func ReserveThreads() {
	if supervise.ThreadLimit() == 0 {
		return
	}
	var made sync.WaitGroup
	enough := make(chan struct{})
	made.Add(spareThreads)
	for range spareThreads {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			made.Done()
			<-enough
		}()
	}
	made.Wait()
	close(enough)
}
