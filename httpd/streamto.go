package httpd

import (
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// renderTo writes the events in st.events in the form of another protocol.
func (st *stream) renderTo() error {
	for i := range st.events {
		e := &st.events[i]
		switch e.Kind {
		case predict.EventOutput:
			st.buf = st.to.Output(st.buf, e.Data, st.written)
			st.written++
		case predict.EventLog:
			st.buf = st.to.Log(st.buf, e.Data)
		case predict.EventEnd:
			rec := st.p.Record()
			return st.complete(&rec)
		}
		if len(st.buf) >= flushAt {
			if err := st.flush(); err != nil {
				return err
			}
		}
	}
	clear(st.events)
	return st.flush()
}

// addOutputs writes the items of a list that were not written: their events were dropped.
func (st *stream) addOutputs(list []byte) {
	for i, item := range rawjson.Items(list) {
		if uint64(i) == st.written {
			st.buf = st.to.Output(st.buf, item, st.written)
			st.written++
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
	st.buf = st.to.End(st.buf, &of)
	return st.flush()
}
