package httpd

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
)

// Jobs is the queue behind a server of NewJobs. The statuses of its jobs are HTTP statuses.
type Jobs interface {
	// Submit enqueues a body, which it then owns. false means the queue is full or closed.
	Submit(body []byte) (Job, bool)
	// Ready says why jobs are not run; nil means they are.
	Ready() error
}

// Job is an enqueued body.
type Job interface {
	// Wait waits for the job's end. The answer stays valid.
	Wait() (status int, answer []byte)
	// Cancel ends the job, because its client has disconnected.
	Cancel()
}

// contentText is the type of all answers of jobs. The service that NewJobs replaces, github.com/kemingy/batching, sends
// no other.
const contentText = "text/plain; charset=utf-8"

// chunked is the length that fasthttp gives a body whose length is not announced.
const chunked = -1

// jobRoute is the route of all jobs in OnRequest.
const jobRoute = "/"

// jobs answers every method and path with a job, except a few GET paths of the server.
type jobs struct {
	s     *Server
	queue Jobs
	list  *route // of all jobs
}

// NewJobs returns a server that makes every request a job: its body goes to the queue, for any method, path and
// headers, and the answer comes from there. An empty body gets an empty answer. Only GET of /livez, /readyz and, if
// Options has it, /metrics is answered by the server.
func NewJobs(queue Jobs, o Options) *Server {
	o.jobs = true
	s := New(nil, o)
	j := &jobs{s: s, queue: queue, list: &route{jobRoute, o.OnRequest}}
	s.route = j.route
	return s
}

func (j *jobs) route(ctx *fasthttp.RequestCtx) {
	if own := j.own(ctx); own != nil {
		ctx.SetUserValue(routeKey{}, &route{string(ctx.Path()), j.s.opt.OnRequest})
		own(ctx)
		return
	}
	ctx.SetUserValue(routeKey{}, j.list)
	j.submit(ctx)
}

// own returns the handler of a path of the server, or nil.
func (j *jobs) own(ctx *fasthttp.RequestCtx) fasthttp.RequestHandler {
	if !ctx.IsGet() && !ctx.IsHead() || ctx.Request.Header.ContentLength() > 0 ||
		ctx.Request.Header.ContentLength() == chunked {
		return nil
	}
	switch string(ctx.Path()) {
	case "/livez":
		return j.livez
	case "/readyz":
		return j.readyz
	case "/metrics":
		return j.s.opt.Metrics
	}
	return nil
}

func (j *jobs) readyz(ctx *fasthttp.RequestCtx) { j.s.out.Probe(ctx, j.queue.Ready()) }

func (j *jobs) submit(ctx *fasthttp.RequestCtx) {
	sent, err := j.s.bodies.Take(ctx)
	if err != nil {
		j.s.out.Refuse(ctx, err)
		return
	}
	defer sent.Release()
	ctx.Response.Header.SetContentType(contentText)
	if len(sent.Data) == 0 {
		return
	}
	job, ok := j.queue.Submit(sent.Data)
	if !ok {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		ctx.Response.Header.Set(answers.HeaderRetry, answers.Elsewhere)
		ctx.SetStatusCode(fasthttp.StatusTooManyRequests)
		ctx.SetBodyString("Too many requests wait for a worker")
		return
	}
	status, answer := j.await(ctx, job)
	sent.Release() // the answer takes its place
	if status == fasthttp.StatusRequestTimeout {
		ctx.SetConnectionClose() // as the batching service does
	}
	ctx.SetStatusCode(status)
	ctx.Response.SetBodyRaw(answer)
}

// await waits for a job, and cancels it if its client disconnects.
func (j *jobs) await(ctx *fasthttp.RequestCtx, job Job) (int, []byte) {
	defer j.s.transport.Unwatch(j.s.transport.Watch(ctx, job))
	return job.Wait()
}

// livez says that the server answers. It does not depend on workers.
func (j *jobs) livez(ctx *fasthttp.RequestCtx) { answers.Literal(ctx, fasthttp.StatusOK, "{}") }
