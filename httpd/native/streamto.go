package native

import (
	"cmp"

	"pinion/httpd/answers"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// renderTo writes the events in st.events in the form of another protocol.
func (st *stream) renderTo() error {
	for i := range st.events {
		e := &st.events[i]
		switch e.Kind {
		case predict.EventOutput:
			st.Buf = st.to.Output(st.Buf, e.Data, st.spill)
			st.written++
		case predict.EventLog:
			st.Buf = st.to.Log(st.Buf, e.Data, st.spill)
		case predict.EventEnd:
			rec := st.p.Record()
			return st.complete(&rec)
		}
		if st.spilled != nil {
			return st.spilled
		}
	}
	clear(st.events)
	return st.Flush()
}

// spill is the flush of the renderer. After an error nothing more is written.
func (st *stream) spill(buf []byte) []byte {
	st.Buf = buf
	if len(buf) >= answers.FlushAt && st.spilled == nil {
		st.spilled = st.Flush()
	}
	if st.spilled != nil {
		st.Buf = st.Buf[:answers.ChunkHead]
	}
	return st.Buf
}

// addOutputs writes the items of a list that were not written: their events were dropped.
func (st *stream) addOutputs(list []byte) {
	for i, item := range rawjson.Items(list) {
		if uint64(i) == st.written {
			st.Buf = st.to.Output(st.Buf, item, st.spill)
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
	st.Buf = st.to.End(st.Buf, &of, st.spill)
	return cmp.Or(st.spilled, st.Flush())
}
