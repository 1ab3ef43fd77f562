package httpd

import (
	"strconv"
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// The prediction object is appended in three parts: what stands before the output, the output's own
// bytes (where there are any), and what stands after. So an output never passes through an encoder.

// appendHead writes the object up to its output.
func (s *Server) appendHead(dst []byte, rec *predict.Record) []byte {
	dst = append(dst, `{"id":`...)
	dst = rawjson.AppendQuoted(dst, rec.ID)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, rec.Status.String()...)
	dst = append(dst, '"')
	switch {
	case rec.Output != nil:
		dst = append(dst, `,"output":`...)
	case rec.Status == predict.Succeeded: // it returned nothing, which is a value too
		dst = append(dst, `,"output":null`...)
	}
	return dst
}

// appendTail writes the object from its output on.
func (s *Server) appendTail(dst []byte, rec *predict.Record) []byte {
	if rec.Status == predict.Failed || rec.Error != "" {
		dst = append(dst, `,"error":`...)
		dst = rawjson.AppendQuoted(dst, rec.Error)
	}
	dst = append(dst, `,"logs":`...)
	dst = rawjson.AppendQuotedBytes(dst, rec.Logs)
	switch {
	case rec.Metrics != nil:
		dst = append(dst, `,"metrics":`...)
		dst = append(dst, rec.Metrics...)
	case rec.Status.Terminal(): // it never came to a worker that could tell
		dst = append(dst, `,"metrics":{"predict_time":`...)
		dst = strconv.AppendFloat(dst, seconds(rec), 'f', -1, 64)
		dst = append(dst, '}')
	}
	dst = s.appendTime(dst, `,"created_at":"`, rec.Created)
	dst = s.appendTime(dst, `,"started_at":"`, rec.Started)
	dst = s.appendTime(dst, `,"completed_at":"`, rec.Completed)
	return append(dst, '}')
}

func (s *Server) appendTime(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(dst, key...)
	dst = s.stamps.append(dst, t)
	return append(dst, '"')
}
