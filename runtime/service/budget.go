package service

import (
	"fmt"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
)

// charge charges a worker's answer to the prediction. It returns false, and frees the answer, where the answer or an
// earlier item does not fit into the memory budget.
func (x *execution) charge(r *slot.Result, result *predict.Result) bool {
	n := cap(r.Body) + len(result.Error) + written(x.p.Request.Shared, result.Tensors)
	if !x.p.Observed() { // else the prediction charged them
		n += cap(r.Logs)
	}
	if !x.p.OverBudget() && (n < memory.MinCharge || x.p.Charge(n)) {
		return true
	}
	if r.Release != nil {
		r.Release()
	}
	r.Body, r.Release, r.Logs = nil, nil, nil
	return false
}

// overBudget returns the result of a prediction that does not fit into the memory budget.
func (s *Service) overBudget(r *predict.Result) predict.Result {
	return predict.Result{
		Status: predict.Failed, OverBudget: true, Elapsed: r.Elapsed,
		Error: fmt.Sprintf("The prediction needs more memory than the server has left for it: its budget is %d MiB (--memory-budget), "+
			"and %d MiB of it are in use", s.o.Memory.Stats().Limit>>20, s.o.Memory.Stats().Used>>20),
	}
}

// reserve charges a new prediction, and its input if that is a copy. The error is memory.ErrFull.
func (x *execution) reserve() error {
	if !x.p.Reserve() {
		return memory.ErrFull
	}
	if x.copied > 0 && !x.p.Charge(x.copied) {
		x.p.Unreserve()
		return memory.ErrFull
	}
	return nil
}

// aliases reports whether both slices begin at the same byte.
func aliases(part, whole []byte) bool {
	return len(part) > 0 && len(whole) > 0 && &part[0] == &whole[0]
}
