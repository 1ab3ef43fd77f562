package request

import (
	"strconv"
	"strings"
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// The headers that Meta reads beside those of trace.Propagation and the tenant's.
const (
	HeaderDeadline = "Pinion-Deadline" // until when a prediction may begin
	HeaderPriority = "Pinion-Priority"
)

// Meta is what a request says in its headers, or in gRPC's metadata, about how it is to be carried out. Every protocol
// reads it by ReadMeta and hands it on as a whole.
type Meta struct {
	trace.Propagation
	Trace    *trace.Trace // nil means it is not traced
	Deadline time.Time    // zero means none
	Class    string       // hi, std or lo; "" means the middle one
	Tenant   string
}

// ReadMeta reads the metadata of a request. values returns all values of a header. tenant is the header that names the
// tenant; "" means all are of one. traced means that the request has a Trace, whose context replaces the client's.
func ReadMeta[T string | []byte](tenant string, traced bool, values func(name string) []T) (m Meta, err error) {
	first := func(name string) string {
		if found := values(name); len(found) > 0 {
			return string(found[0])
		}
		return ""
	}
	m.Propagation = trace.ReadPropagation(traced, values)
	if tenant != "" {
		m.Tenant = first(tenant)
	}
	switch m.Class = first(HeaderPriority); m.Class {
	case "", "hi", "std", "lo":
	default:
		return m, &Error{Reason: "invalid " + HeaderPriority + " " + Show([]byte(m.Class)) + ": must be hi, std or lo"}
	}
	m.Deadline, err = readDeadline(first(HeaderDeadline), time.Now)
	return m, err
}

// For gives a request its metadata.
func (m *Meta) For(req *predict.Request) {
	req.Propagation, req.Trace = m.Propagation, m.Trace
	req.Deadline, req.Class, req.Tenant = m.Deadline, m.Class, m.Tenant
}

// maxDeadline is the longest deadline in seconds.
const maxDeadline = 1e9

// readDeadline reads a deadline: seconds from now, or an RFC 3339 time. A time is converted to a duration at once, so
// that later changes of the clock do not reorder deadlines. Zero means none.
func readDeadline(text string, now func() time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		arrived := now()
		return arrived.Add(min(at.Sub(arrived), maxDeadline*time.Second)), nil
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 && s <= maxDeadline {
		return now().Add(time.Duration(s * float64(time.Second))), nil
	}
	var bad Problems
	bad.Add("must be a number of seconds, or a time like 2026-01-31T12:00:00Z", "header", HeaderDeadline)
	return time.Time{}, bad.Err()
}
