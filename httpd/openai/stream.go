package openai

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// renderer writes the items of a run as chunks. It is a protocol.RowsRenderer.
type renderer struct {
	q      *request
	run    *protocol.Run
	chunks *Chunks
	row    int
	bad    *Error // an item that the endpoint does not have
	items  int64
	first  time.Time // when the first item came
}

// Item appends the chunks of an item.
func (r *renderer) Item(dst, item []byte) ([]byte, bool) {
	if r.items++; r.items == 1 {
		r.first = time.Now()
	}
	out, stopped, err := r.chunks.Item(dst, r.row, item)
	if err != nil {
		r.bad = err
		return out, false
	}
	return out, !stopped
}

// NextRow appends the end of a prediction.
func (r *renderer) NextRow(dst []byte) []byte {
	if r.bad != nil {
		return dst
	}
	dst, r.bad = r.chunks.End(dst, r.row)
	r.row++
	return dst
}

// Done reports whether an item was bad, after which nothing is wanted.
func (r *renderer) Done() bool { return r.bad != nil }

// End appends the end of the stream.
func (r *renderer) End(dst []byte, err *protocol.Error) []byte {
	if err != nil {
		r.bad = r.q.errorOf(err)
	} else {
		dst = r.NextRow(dst)
	}
	if r.bad != nil {
		r.q.report(r.bad.Status, r, 0)
		return AppendFailure(dst, r.bad)
	}
	if r.q.IncludeUsage {
		r.run.Settle() // what it recorded is known at its end
	}
	u := r.q.Usage(resultsOf(r.run, len(r.q.Inputs)))
	r.q.report(fasthttp.StatusOK, r, u.Completion)
	return r.chunks.Done(dst, u)
}

func resultsOf(run *protocol.Run, n int) []Result {
	results := make([]Result, n)
	for i := range results {
		a := run.AnswerOf(i)
		results[i] = Result{a.Output, a.Metrics}
	}
	return results
}

// follow reads the items of a run, whose predictions end at a stop sequence, and returns its results.
func (r *Request) follow(run *protocol.Run) ([]Result, *protocol.Error) {
	items := make([][]byte, 0, 64)
	stop := r.newStopper()
	rows, skipped := 1, false
	for {
		var err error
		items, err = run.Next(items[:0])
		for _, item := range items {
			if _, stopped := stop.add(item); stopped && !skipped {
				run.Skip()
				skipped = true
			}
		}
		var failed *protocol.Error
		switch {
		case errors.Is(err, protocol.ErrNextRow):
			stop, skipped = r.newStopper(), false
			rows++
		case errors.Is(err, io.EOF):
			return resultsOf(run, rows), nil
		case errors.As(err, &failed):
			return nil, failed
		case err != nil && !errors.Is(err, predict.ErrStopped):
			return nil, protocol.Errorf(protocol.Internal, "%v", err)
		}
	}
}
