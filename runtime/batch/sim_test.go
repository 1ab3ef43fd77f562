package batch

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// A discrete-event simulator: arrivals, a Batcher, workers, and a clock that jumps from event to event.

// noise is how far a batch's time is from its price, at most, as a share.
const noise = 0.05

// A run is one simulation.
type run struct {
	price   price
	load    load
	policy  decider
	maxSize int
	workers int
	items   int // to be answered before it ends
	seed    uint64
	whole   bool // the first tenth counts too
}

// An outcome is what came of a run, the first tenth of its items left out.
type outcome struct {
	mean, p50, p99 time.Duration
	rate           float64 // items a second
	size           float64 // mean batch
}

type eventKind uint8

const (
	arrival eventKind = iota // who: client, or index of the arrival
	ended                    // who: worker
	wake
)

type event struct {
	at     time.Duration
	serial int // of events at one time the first pushed comes first
	kind   eventKind
	who    int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// A simulation is a run in progress.
type simulation struct {
	run
	batcher   *Batcher[int] // of clients
	rand      *rand.Rand
	prices    *rand.Rand // apart, so that policies meet the same arrivals
	events    events
	serial    int
	now       time.Duration
	idle      []int
	batches   [][]*Item[int] // by worker
	took      []time.Duration
	wake      time.Duration
	arrivals  []time.Duration
	latencies []time.Duration
	warmed    time.Duration
	sizes     int
}

func (s *simulation) push(at time.Duration, kind eventKind, who int) {
	s.serial++
	heap.Push(&s.events, event{at, s.serial, kind, who})
}

// do simulates.
func (r run) do() outcome {
	s := &simulation{
		run: r, batcher: newBatcher[int](r.maxSize, r.policy),
		rand: rand.New(rand.NewPCG(r.seed, 1)), prices: rand.New(rand.NewPCG(r.seed, 2)),
		batches: make([][]*Item[int], r.workers), took: make([]time.Duration, r.workers),
	}
	for w := range r.workers {
		s.idle = append(s.idle, w)
	}
	if r.load.open != nil {
		s.arrivals = r.load.open(s.rand, r.items)
		s.push(s.arrivals[0], arrival, 0)
	}
	for c := range r.load.clients {
		s.push(r.load.think(s.rand), arrival, c)
	}
	for len(s.latencies) < r.items && len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		switch e.kind {
		case arrival:
			s.arrive(e.who)
		case ended:
			s.end(e.who)
		case wake:
			if e.at != s.wake {
				continue // another answer has come since
			}
		}
		s.dispatch()
	}
	return s.outcome()
}

func (s *simulation) arrive(who int) {
	s.batcher.Add(&Item[int]{Value: who}, s.now)
	if s.arrivals != nil && who+1 < len(s.arrivals) {
		s.push(s.arrivals[who+1], arrival, who+1)
	}
}

func (s *simulation) end(w int) {
	batch := s.batches[w]
	s.batches[w] = batch[:0]
	s.idle = append(s.idle, w)
	s.batcher.Ended(s.now, len(batch), s.took[w])
	s.sizes++
	for _, it := range batch {
		s.latencies = append(s.latencies, s.now-it.Arrived())
		if s.arrivals == nil {
			s.push(s.now+s.load.think(s.rand), arrival, it.Value)
		}
	}
	if !s.whole && s.warmed == 0 && len(s.latencies) >= s.items/10 {
		s.warmed = s.now
		s.items -= len(s.latencies)
		s.latencies, s.sizes = s.latencies[:0], 0
	}
}

func (s *simulation) dispatch() {
	s.wake = 0
	for len(s.idle) > 0 {
		w := s.idle[len(s.idle)-1]
		batch, again := s.batcher.Take(s.now, len(s.idle), s.workers, s.batches[w][:0])
		if len(batch) == 0 {
			if again > 0 {
				s.wake = again
				s.push(again, wake, 0)
			}
			return
		}
		s.idle = s.idle[:len(s.idle)-1]
		s.batches[w] = batch
		took := s.price.of(len(batch))
		took += time.Duration(noise * float64(took) * (2*s.prices.Float64() - 1))
		s.took[w] = took
		s.push(s.now+took, ended, w)
	}
}

func (s *simulation) outcome() outcome {
	n := len(s.latencies)
	o := outcome{rate: float64(n) / (s.now - s.warmed).Seconds(), size: float64(n) / float64(s.sizes)}
	for _, l := range s.latencies {
		o.mean += l
	}
	o.mean /= time.Duration(n)
	slices.Sort(s.latencies)
	o.p50, o.p99 = s.latencies[n/2], s.latencies[n*99/100]
	return o
}
