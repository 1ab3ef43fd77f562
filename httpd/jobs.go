package httpd

import (
	"github.com/valyala/fasthttp"
)

// Jobs is what a server for bodies needs of the queue behind it. The statuses of its jobs are HTTP's.
type Jobs interface {
	// Submit takes a body in and keeps it. false: it does not, because too many wait or it was closed.
	Submit(body []byte) (Job, bool)
	// Ready is nil where jobs are carried out, or says why not.
	Ready() error
}

// Job is a body on its way.
type Job interface {
	// Wait waits for the job's end. What it returns stays valid.
	Wait() (status int, answer []byte)
	// Cancel ends it, because nobody waits any more.
	Cancel()
}

// contentText is what all answers to bodies are said to be, whatever a worker made: clients of the service that is
// stood in for know no other.
const contentText = "text/plain; charset=utf-8"

// chunked is the length that fasthttp gives a body whose length is not announced.
const chunked = -1

// jobRoute is the route of all jobs, as OnRequest is told it.
const jobRoute = "/"

// jobs answers every method and path with a job, but for a few paths of GET that are the server's own.
type jobs struct {
	*Server
	queue Jobs
}

// NewJobs makes a server of which every request is a job: its body goes to the queue, whatever its method, path and
// headers, and the answer comes from there. An empty body is answered with an empty one. Only GET of /livez,
// /readyz and, where Options has it, /metrics is the server's own.
func NewJobs(queue Jobs, o Options) *Server {
	s := New(nil, o)
	j := &jobs{Server: s, queue: queue}
	s.http.Handler = j.handle
	return s
}

// handle is around every request. Unlike Server.handle it leaves the answer as it is: nothing is translated or
// compressed.
func (j *jobs) handle(ctx *fasthttp.RequestCtx) {
	if j.reports() {
		defer j.report(ctx) // after recovered
	}
	defer j.recovered(ctx)
	echoRequestID(ctx)
	c, counted := ctx.Conn().(*conn)
	last := counted && c.begin()
	if tooLarge(ctx) {
		j.refuse(ctx, fasthttp.ErrBodyTooLarge)
		return
	}
	switch own := j.own(ctx); {
	case own != nil:
		ctx.SetUserValue(routeKey{}, string(ctx.Path()))
		own(ctx)
	case j.foreignPage(ctx):
		j.detail(ctx, fasthttp.StatusForbidden, "A browser sent this request for a page of another origin, which may not call this server")
	default:
		ctx.SetUserValue(routeKey{}, jobRoute)
		j.carryOut(ctx)
	}
	j.finishBody(ctx)
	ctx.Request.ReleaseBody(maxKept)
	if last || j.closing.Load() {
		ctx.SetConnectionClose()
	}
}

// own is what answers the server's own paths; nil: this is none.
func (j *jobs) own(ctx *fasthttp.RequestCtx) fasthttp.RequestHandler {
	if !ctx.IsGet() && !ctx.IsHead() || ctx.Request.Header.ContentLength() > 0 || ctx.Request.Header.ContentLength() == chunked {
		return nil
	}
	switch string(ctx.Path()) {
	case "/livez":
		return j.livez
	case "/readyz":
		return j.readyz
	case "/metrics":
		return j.opt.Metrics
	}
	return nil
}

func (j *jobs) readyz(ctx *fasthttp.RequestCtx) {
	if err := j.queue.Ready(); err != nil {
		j.detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	literal(ctx, fasthttp.StatusOK, "{}")
}

// carryOut makes a job of a request.
func (j *jobs) carryOut(ctx *fasthttp.RequestCtx) {
	body, charged, err := j.takeBody(ctx)
	if err != nil {
		j.refuse(ctx, err)
		return
	}
	defer j.opt.Memory.Free(charged)
	ctx.Response.Header.SetContentType(contentText)
	if len(body) == 0 {
		return
	}
	job, ok := j.queue.Submit(body)
	if !ok {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		ctx.Response.Header.Set(headerRetry, elsewhere)
		ctx.SetStatusCode(fasthttp.StatusTooManyRequests)
		ctx.SetBodyString("Too many requests wait for a worker")
		return
	}
	status, answer := j.await(ctx, job)
	if status == fasthttp.StatusRequestTimeout {
		ctx.SetConnectionClose() // as clients know it
	}
	ctx.SetStatusCode(status)
	ctx.Response.SetBodyRaw(answer)
}

// await waits for a job, and cancels it where its client leaves meanwhile.
func (j *jobs) await(ctx *fasthttp.RequestCtx, job Job) (int, []byte) {
	if c, ok := ctx.Conn().(*conn); ok && c.fd >= 0 {
		j.gone.add(&c.watch, job, ctx.Time())
		defer j.gone.remove(&c.watch)
	}
	return job.Wait()
}

// livez tells that the server answers: its workers come and go by themselves.
func (j *jobs) livez(ctx *fasthttp.RequestCtx) { literal(ctx, fasthttp.StatusOK, "{}") }
