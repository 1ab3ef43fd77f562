package webhook

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"pinion/runtime/egress"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// post tries once to deliver a record. It follows redirects, and takes at most Options.Timeout.
func (s *Sender) post(ctx context.Context, d *delivery, rec *predict.Record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, ErrTimeout)
	defer cancel()
	parts := s.render(rec)
	made := int64(cap(parts[0]) + cap(parts[2])) // mostly logs; the output is not copied
	if !s.o.Memory.Take(made, made) {
		return memory.ErrFull
	}
	defer s.o.Memory.Free(made)
	span := d.beginSpan()
	err := s.send(ctx, d, span, parts)
	d.endSpan(span, err)
	return err
}

// render returns the body. It does not copy the output, which may be large.
func (s *Sender) render(rec *predict.Record) [3][]byte {
	head := s.encoder.AppendHead(make([]byte, 0, 256), rec)
	tail := s.encoder.AppendTail(make([]byte, 0, 512+len(rec.Logs)+len(rec.Metrics)), rec)
	return [3][]byte{head, rec.Output, tail}
}

// send sends a body to the target, and to the targets of redirects.
func (s *Sender) send(ctx context.Context, d *delivery, span *trace.Span, parts [3][]byte) error {
	header := d.header(span)
	if !s.o.Key.IsZero() && (!s.o.SignMembers || d.prediction.Request.Members != nil) {
		s.o.Key.sign(header, d.messageID(), s.now(), parts)
	}
	sent := &payload{parts: parts}
	defer sent.detach()
	response, _, err := s.client.Send(ctx, &egress.Request{
		Method: http.MethodPost, Header: header, Token: s.o.AuthToken,
		Size: int64(len(parts[0]) + len(parts[1]) + len(parts[2])),
		Body: func() io.ReadCloser { return sent.open() },
	}, d.target)
	if err != nil {
		return plain(ctx, err)
	}
	defer egress.Discard(response)
	switch code := response.StatusCode; {
	case code >= 200 && code <= 299 || code == http.StatusSeeOther:
		return nil
	case egress.IsRedirect(code): // the redirect has no target
		return ErrRedirect
	default:
		return egress.NewStatusError("receiver", response, s.now())
	}
}

// messageID returns the id of the event that is delivered, which is the same in each try.
func (d *delivery) messageID() string {
	if d.stored {
		return d.prediction.ID()
	}
	return d.prediction.ID() + "." + strconv.Itoa(d.delivered)
}

// header returns the headers of a delivery's requests.
func (d *delivery) header(span *trace.Span) http.Header {
	header := make(http.Header)
	header.Set("Content-Type", "application/json")
	from := &d.prediction.Request
	if span != nil {
		from.SetHeaders(from.Trace, span.Context, header.Set)
	} else {
		from.SetHeaders(nil, trace.Context{}, header.Set)
	}
	if from.Attempt > 0 {
		header.Set("Pinion-Attempt", strconv.Itoa(from.Attempt))
	}
	if d.stored {
		header.Set("Webhook-Id", d.prediction.ID())
	}
	return header
}
