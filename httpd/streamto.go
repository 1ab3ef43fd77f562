package httpd

import (
	"cmp"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// renderTo writes the events in st.events in the form of another protocol.
func (st *stream) renderTo() error {
	for i := range st.events {
		e := &st.events[i]
		switch e.Kind {
		case predict.EventOutput:
			st.buf = st.to.Output(st.buf, e.Data, st.spill)
			st.written++
		case predict.EventLog:
			st.buf = st.to.Log(st.buf, e.Data, st.spill)
		case predict.EventEnd:
			rec := st.p.Record()
			return st.complete(&rec)
		}
		if st.spilled != nil {
			return st.spilled
		}
	}
	clear(st.events)
	return st.flush()
}

// spill is the flush of the renderer. After an error nothing more is written.
func (st *stream) spill(buf []byte) []byte {
	st.buf = buf
	if len(buf) >= flushAt && st.spilled == nil {
		st.spilled = st.flush()
	}
	if st.spilled != nil {
		st.buf = st.buf[:chunkHead]
	}
	return st.buf
}

// addOutputs writes the items of a list that were not written: their events were dropped.
func (st *stream) addOutputs(list []byte) {
	for i, item := range rawjson.Items(list) {
		if uint64(i) == st.written {
			st.buf = st.to.Output(st.buf, item, st.spill)
			if st.written++; st.spilled != nil {
				return
			}
		}
	}
}

// completeTo writes what follows the last event.
func (st *stream) completeTo(rec *predict.Record) error {
	of := *rec // native streams have theirs on the stack
	if st.written > 0 || st.p.Yielded() {
		st.addOutputs(of.Output)
		of.Output = nil
	}
	st.buf = st.to.End(st.buf, &of, st.spill)
	return cmp.Or(st.spilled, st.flush())
}
