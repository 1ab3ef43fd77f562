package predict

import (
	"strconv"
	"time"

	"pinion/runtime/rawjson"
)

// Encoder writes records as the prediction object of the HTTP contract. The zero value is ready to use. It is safe for
// concurrent use.
//
// The object has three parts: the head, the output's own bytes, and the tail. So an output is never encoded again.
type Encoder struct{ timestamps timestamper }

func (e *Encoder) Append(dst []byte, rec *Record) []byte {
	dst = e.AppendHead(dst, rec)
	dst = append(dst, rec.Output...)
	return e.AppendTail(dst, rec)
}

// AppendHead appends the object up to its output.
func (e *Encoder) AppendHead(dst []byte, rec *Record) []byte {
	dst = append(dst, `{"id":`...)
	dst = rawjson.AppendQuoted(dst, rec.ID)
	if rec.Input != nil {
		dst = append(dst, `,"input":`...)
		dst = append(dst, rec.Input...)
	}
	dst = append(dst, `,"status":"`...)
	dst = append(dst, rec.Status.String()...)
	dst = append(dst, '"')
	switch {
	case rec.Output != nil:
		dst = append(dst, `,"output":`...)
	case rec.Status == Succeeded: // the model returned None
		dst = append(dst, `,"output":null`...)
	}
	return dst
}

// AppendTail appends the object from its output on.
func (e *Encoder) AppendTail(dst []byte, rec *Record) []byte {
	if rec.Open {
		dst = append(dst, ']')
	}
	if rec.Status == Failed || rec.Error != "" {
		dst = append(dst, `,"error":`...)
		dst = rawjson.AppendQuoted(dst, rec.Error)
	}
	if f := rec.Fault; f != nil {
		dst = strconv.AppendInt(append(dst, `,"error_status":`...), int64(f.Status), 10)
		if f.Code != "" {
			dst = rawjson.AppendQuoted(append(dst, `,"error_code":`...), f.Code)
		}
	}
	if rec.OverBudget {
		dst = strconv.AppendInt(append(dst, `,"error_status":`...), OverBudgetStatus, 10)
	}
	dst = append(dst, `,"logs":`...)
	dst = rawjson.AppendQuotedBytes(dst, rec.Logs)
	switch {
	case rec.Metrics != nil:
		dst = append(dst, `,"metrics":`...)
		dst = append(dst, rec.Metrics...)
	case rec.Status.Terminal(): // no worker reported metrics
		dst = append(dst, `,"metrics":{"predict_time":`...)
		dst = strconv.AppendFloat(dst, rec.seconds(), 'f', -1, 64)
		dst = append(dst, '}')
	default: // Cog's clients read metrics while the prediction runs, too
		dst = rec.live.appendTo(append(dst, `,"metrics":`...))
	}
	if rec.QueuePosition > 0 {
		dst = append(dst, `,"queue_position":`...)
		dst = strconv.AppendInt(dst, int64(rec.QueuePosition), 10)
	}
	if rec.Version != "" {
		dst = append(dst, `,"version":`...)
		dst = rawjson.AppendQuoted(dst, rec.Version)
	}
	if rec.CreatedText != "" {
		dst = append(dst, `,"created_at":`...)
		dst = rawjson.AppendQuoted(dst, rec.CreatedText)
	} else {
		dst = e.appendTime(dst, `,"created_at":"`, rec.Created)
	}
	dst = e.appendTime(dst, `,"started_at":"`, rec.Started)
	dst = e.appendTime(dst, `,"completed_at":"`, rec.Completed)
	return append(append(dst, rec.Members...), '}')
}

func (e *Encoder) appendTime(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(dst, key...)
	dst = e.timestamps.append(dst, t)
	return append(dst, '"')
}

// seconds returns how long the prediction ran, by the times of its record.
func (rec *Record) seconds() float64 {
	if rec.Started.IsZero() || rec.Completed.IsZero() {
		return 0
	}
	return max(0, rec.Completed.Sub(rec.Started)).Round(time.Microsecond).Seconds()
}
