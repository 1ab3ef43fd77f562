package service

import (
	"sync/atomic"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

// OutputCheck says what happens to an output that does not match the model's return annotation.
type OutputCheck int

const (
	IgnoreOutputs OutputCheck = iota // outputs are not checked
	WarnOfOutputs                    // the first mismatch is logged; outputs above maxWarned are not checked
	RefuseOutputs                    // a mismatch fails its prediction
)

// maxWarned is the largest output in bytes that is checked only for a warning. A check takes about 1 µs per KiB.
const maxWarned = 64 << 10

// refusedOutput begins the error of a prediction whose output was refused.
const refusedOutput = "the output does not match the return annotation: "

type outputs struct {
	check   OutputCheck
	schemas [2]*schema.Output // by predict.Kind; nil means anything
	warned  atomic.Bool
}

func (s *Service) compileOutputs(openapi []byte, names map[predict.Kind]string) *outputs {
	o := &outputs{check: s.o.Outputs}
	if o.check == IgnoreOutputs {
		return o
	}
	for kind, name := range names {
		compiled, err := schema.CompileOutput(openapi, name)
		if err != nil {
			s.o.Logger.Warn("the model's schema cannot be used: outputs are not checked", "schema", name, "error", err)
		}
		o.schemas[kind] = compiled
	}
	return o
}

// checkOutput checks the final output of a prediction. A refused output fails it.
func (x *execution) checkOutput(r *predict.Result) {
	if x.refused == "" && r.Status == predict.Succeeded && r.Output != nil {
		x.refused = x.fault(predict.WithPlaceholders(r.Output, predict.Above), (*schema.Output).Check)
	}
	if x.refused != "" {
		*r = predict.Result{
			Status: predict.Failed, Error: refusedOutput + x.refused, Elapsed: r.Elapsed, Metrics: r.Metrics, Logs: r.Logs,
		}
	}
}

// acceptsItem reports whether a yielded item may be emitted. The first refused item ends the prediction.
func (x *execution) acceptsItem(item []byte) bool {
	if x.refused != "" {
		return false
	}
	index := x.items
	x.items++
	x.refused = x.fault(item, func(o *schema.Output, item []byte) string { return o.CheckItem(index, item) })
	if x.refused != "" {
		x.stop()
	}
	return x.refused == ""
}

// fault says why a value is refused, or "". With WarnOfOutputs it logs the fault instead.
func (x *execution) fault(value []byte, check func(*schema.Output, []byte) string) string {
	o := x.model.outputs
	compiled := o.schemas[x.p.Request.Kind]
	if compiled == nil || o.check == WarnOfOutputs && (len(value) > maxWarned || o.warned.Load()) {
		return ""
	}
	fault := check(compiled, value)
	if fault != "" && o.check == WarnOfOutputs {
		if !o.warned.Swap(true) {
			x.service.o.Logger.Warn("an output does not match the return annotation; the outputs after it are not checked",
				"prediction_id", logtext.Clip(x.p.ID()), "problem", fault, "fix", "--validate-output error fails such predictions")
		}
		fault = ""
	}
	return fault
}
