// Package trace records the spans of predictions and setups, and carries W3C trace contexts.
//
//	Tracer   decides which requests are traced; nil where tracing is off
//	Trace    one request: its server span, its prediction and what belongs to that; nil if it is not traced
//	Context  names a span in headers and frames
//
// A request is traced if it is sampled, or if its client sent a context: then the context is passed on even if nothing
// is recorded. Methods of a nil *Tracer or *Trace do nothing. Ended spans go to Tracer.Export, which must not block.
package trace
