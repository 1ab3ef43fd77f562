package metrics

import "time"

// maxMethods bounds the methods with series of their own.
const maxMethods = 100

// methodBatches are the batches of one method.
type methodBatches struct {
	labels           []Label
	size, wait, took *histogram
}

// MethodBatch records a batch of a method that predictions call: its size, for how long its oldest call waited, and
// what the method took.
func (s *Set) MethodBatch(method string, size int, wait, took time.Duration) {
	of := s.methods.snapshot()[method]
	if of == nil {
		if of = s.methods.add(method, maxMethods, s.newMethodBatches); of == nil {
			return
		}
	}
	of.size.observe(time.Duration(size))
	of.wait.observe(wait)
	of.took.observe(took)
}

func (s *Set) newMethodBatches(method string) *methodBatches {
	times := s.predictions.queue.bounds
	return &methodBatches{
		labels: pairs("method", method),
		size:   s.batches.size.bounds.histogram(), wait: times.histogram(), took: times.histogram(),
	}
}

// gatherMethods adds the batches of methods, if the model has any.
func (s *Set) gatherMethods(g *gathered) {
	methods := s.methods.snapshot()
	if len(methods) == 0 {
		return
	}
	for _, f := range []struct {
		name, help string
		of         func(*methodBatches) *histogram
	}{
		{
			"pinion_method_batch_size", "Calls of a method in one batch.",
			func(of *methodBatches) *histogram { return of.size },
		},
		{
			"pinion_method_batch_wait_seconds", "Time from a batch's oldest call to the batch's start.",
			func(of *methodBatches) *histogram { return of.wait },
		},
		{
			"pinion_method_batch_seconds", "Time that a method took for a batch.",
			func(of *methodBatches) *histogram { return of.took },
		},
	} {
		g.family(f.name, Histogram, f.help)
		for _, of := range methods {
			g.sample(Sample{Labels: of.labels, Histogram: sumOf(f.of(of))})
		}
		g.sort()
	}
}

// methodSizes returns the sizes of the batches of each method, for Figures.
func (s *Set) methodSizes() map[string]Buckets {
	methods := s.methods.snapshot()
	if len(methods) == 0 {
		return nil
	}
	sizes := make(map[string]Buckets, len(methods))
	for name, of := range methods {
		sizes[name] = read(of.size)
	}
	return sizes
}
