package native

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/runtime/predict"
)

// respond answers with a prediction, as its client asked.
func (k Collection) respond(ctx *fasthttp.RequestCtx, placed place.Placed) {
	p, how := placed.Prediction, placed.How
	switch placed.State {
	case place.Made:
		k.Out.Announce(ctx, p.ID(), p.Warnings)
		k.respondNew(ctx, p, how)
	case place.Followed:
		_ = k.Stream(ctx, p, placed.Events, nil, nil) // it runs, and is not refused
	case place.Known:
		if placed.Joined {
			k.Out.Prediction(ctx, placed.Record, p)
		} else {
			k.answerKept(ctx, p, placed.Record)
		}
		if placed.Joined || how.Kind == predict.Async {
			answers.Restate(ctx, fasthttp.StatusAccepted)
		}
	default:
		k.Out.Announce(ctx, placed.Accepted.ID, placed.Accepted.Warnings)
		answerQueued(ctx, placed)
		if !placed.Ended {
			answers.Restate(ctx, fasthttp.StatusAccepted)
		}
	}
}

// answerQueued answers with the object of a prediction that the queue has.
func answerQueued(ctx *fasthttp.RequestCtx, placed place.Placed) {
	body := placed.Accepted.Object
	if body == nil {
		body = answers.Starting(placed.Accepted.ID)
	}
	answers.Object(ctx, body, placed.Accepted.Owner)
}

// respondNew runs p, answers in the mode that the client asked for, and releases p.
func (k Collection) respondNew(ctx *fasthttp.RequestCtx, p *predict.Prediction, how negotiate.Mode) {
	switch {
	case how.Kind == predict.Stream:
		k.streamNew(ctx, p)
	case how.Kind == predict.Async:
		defer p.Release()
		p.Start()
		answers.JSON(ctx, fasthttp.StatusAccepted, answers.Starting(p.ID()))
	case how.Bounded:
		k.answerWithin(ctx, p, how.Wait)
	default:
		k.answerAtEnd(ctx, p)
	}
}

// answerKept answers with a prediction that is retained or in flight, and takes over the hold on it.
func (k Collection) answerKept(ctx *fasthttp.RequestCtx, p *predict.Prediction, rec *predict.Record) {
	if rec.Status == predict.Succeeded && negotiate.Rendered(&ctx.Request.Header, true) == negotiate.AsFile {
		k.Out.File(ctx, rec, p)
	} else {
		k.Out.Prediction(ctx, rec, p)
	}
}

// streamNew subscribes to p and runs it.
func (k Collection) streamNew(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	r := NewRun(k.Out, p)
	sub, err := p.Subscribe() // before it runs, so that no event is missed
	if err != nil {
		p.Cancel() // only a run gives its slot back
		r.Start(nil)
		p.Release()
		k.Out.Refuse(ctx, err)
		return
	}
	if err := k.Stream(ctx, p, sub, r, nil); err != nil {
		k.Out.Refuse(ctx, err)
	}
}

// answerAtEnd runs p on this goroutine, and cancels it if the client disconnects.
func (k Collection) answerAtEnd(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	handed := false // answer releases p
	defer func() {
		if !handed {
			p.Release()
		}
	}()
	if err := k.await(ctx, p); err != nil {
		k.Out.Refuse(ctx, err)
		return
	}
	handed = true
	k.answer(ctx, p)
}

func (k Collection) await(ctx *fasthttp.RequestCtx, p *predict.Prediction) error {
	defer k.Out.Transport.Unwatch(k.Out.Transport.Watch(ctx, p))
	return p.Run()
}

// answerWithin answers with p's result, or after most with its current state; p then continues. If the client
// disconnects while it waits, p is canceled.
func (k Collection) answerWithin(ctx *fasthttp.RequestCtx, p *predict.Prediction, most time.Duration) {
	r := NewRun(k.Out, p)
	r.Start(nil)
	if r.EndsWithin(ctx, most) {
		if r.Err != nil {
			p.Release()
			k.Out.Refuse(ctx, r.Err)
			return
		}
		k.answer(ctx, p)
		return
	}
	rec := p.Record()
	k.Out.Prediction(ctx, &rec, p)
	answers.Restate(ctx, fasthttp.StatusAccepted)
}

// answer writes the prediction object of an ended prediction, and releases p after the last use of its record.
func (k Collection) answer(ctx *fasthttp.RequestCtx, p *predict.Prediction) {
	rec := p.Record()
	if rec.Status != predict.Succeeded {
		rec.Output = nil // items of a failed prediction go only to streams and webhooks
	}
	status := fasthttp.StatusOK
	if rec.Fault != nil {
		status = rec.Fault.Status
	}
	if p.Request.WantFile {
		k.Out.File(ctx, &rec, p)
	} else {
		k.Out.Prediction(ctx, &rec, p)
	}
	if status != fasthttp.StatusOK {
		ctx.SetStatusCode(status)
	}
}
