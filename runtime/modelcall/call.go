package modelcall

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// Model is a model that can be called.
type Model interface {
	// Assign accepts a prediction, or refuses it.
	Assign(req predict.Request) (*predict.Prediction, error)
	// Shape says what the model returns. The error says why it cannot be called.
	Shape() (Shape, error)
}

// Shape is what must be known of a model's output before it runs.
type Shape struct {
	Iterator bool // it yields items
	Files    bool // there may be files in it
	Tensors  bool // there may be arrays, or numbers without JSON, in it
}

// Options of the calls of a server.
type Options struct {
	// Find returns the model of that name. The error names the known ones.
	Find func(name string) (Model, error)
	// Explain returns the text of an error of Model, for the caller.
	Explain func(error) string
	// Tracer traces the predictions; nil means they are not traced.
	Tracer *trace.Tracer
	// Memory is the budget; nil means no limit.
	Memory *memory.Budget
}

// Serve runs the call that comes on a socket, in a goroutine of its own. It takes over the descriptor. caller is the
// model that calls, and of its prediction or the predictions of its batch, which must not be released before Serve
// returns.
func (o *Options) Serve(caller string, of []*predict.Prediction, fd int) {
	conn, err := ipc.NewConn(fd, "call")
	if err != nil {
		unix.Close(fd)
		return
	}
	c := &call{o: o, conn: conn, caller: caller, of: of, finished: make(chan struct{})}
	for _, p := range of {
		p.Hold()
	}
	go c.run()
}

// call is one call.
type call struct {
	o        *Options
	conn     *ipc.Conn
	caller   string
	of       []*predict.Prediction
	finished chan struct{} // closed once the caller wants nothing more

	unread  unread    // items of the output
	items   chan item // of the input; nil if none come
	flooded bool      // there were more of them than may wait

	mu  sync.Mutex
	end bool
	p   *predict.Prediction // nil until it is accepted
}

func (c *call) run() {
	defer func() {
		c.conn.Close()
		for _, p := range c.of {
			p.Release()
		}
	}()
	var m message
	var bad error
	size := -1
	for size < 0 {
		err := c.conn.Recv(func(f *ipc.Frame) {
			if f.Kind != ipc.KindCall {
				c.receive(f)
				return
			}
			size = len(f.Body)
			if m, bad = parse(bytes.Clone(f.Body)); m.stream != "" {
				c.items = make(chan item, maxSentItems)
			}
		})
		if err != nil {
			return
		}
	}
	go c.watchSocket()
	done := make(chan struct{})
	defer close(done)
	go c.watchCaller(done)
	c.respond(m, int64(size), bad)
	<-c.finished // the socket stays open until the caller has read the answer
}

// watchSocket ends the call when the caller closes the socket, has died, or sends more items than it may.
func (c *call) watchSocket() {
	for c.conn.Recv(c.receive) == nil && !c.flooded {
		continue
	}
	c.cancel()
}

// receive notes what the caller has read, and gets its items.
func (c *call) receive(f *ipc.Frame) {
	switch f.Kind {
	case ipc.KindRead:
		c.unread.take(f.ID)
	case ipc.KindItem, ipc.KindItemsEnd:
		select {
		case c.items <- item{f.Kind, f.Flags&ipc.FlagBinary != 0, bytes.Clone(f.Body)}:
		default:
			c.flooded = true
		}
	}
}

// watchCaller ends the call when all predictions that wait for it have ended.
func (c *call) watchCaller(done chan struct{}) {
	for _, p := range c.of {
		select {
		case <-p.Done():
		case <-done:
			return
		}
	}
	c.cancel()
}

// cancel ends the call. It may be called more than once.
func (c *call) cancel() {
	c.mu.Lock()
	first, p := !c.end, c.p
	c.end = true
	c.mu.Unlock()
	if p != nil {
		p.Cancel()
	}
	if first {
		close(c.finished)
	}
}

// accepted lets cancel end the prediction.
func (c *call) accepted(p *predict.Prediction) {
	c.mu.Lock()
	c.p = p
	end := c.end
	c.mu.Unlock()
	if end {
		p.Cancel()
	}
}

// respond runs the prediction of a message of that size and sends its results; err is why it cannot be read. An error of
// the socket means that the caller is gone, which watchSocket sees.
func (c *call) respond(m message, size int64, err error) {
	shown := predict.BeginCall(c.of, m.model, time.Now())
	refuse := func(err error) {
		reason := c.o.Explain(err)
		shown.Refuse(reason, time.Now())
		_ = c.conn.Send(ipc.KindFailed, 0, errorOf(reason))
	}
	if err != nil {
		refuse(err)
		return
	}
	callers := c.callers()
	name, _, _ := strings.Cut(m.model, "@") // of any version
	if slices.Contains(callers, name) {
		refuse(fmt.Errorf("model %q is already among its callers: %s", m.model,
			strings.Join(append(callers, m.model), " → ")))
		return
	}
	model, err := c.o.Find(m.model)
	var shape Shape
	if err == nil {
		shape, err = model.Shape()
	}
	if err != nil {
		refuse(err)
		return
	}
	req := predict.Request{
		Input: m.input, Tensors: m.tensors, WantTensors: shape.Tensors, WantPaths: shape.Files, Callers: callers,
		Trace: c.o.Tracer.Continue(m.parent), Propagation: c.of[0].Request.Propagation, Deadline: c.deadline(),
	}
	req.TraceParent, req.TraceState = m.parent.Parent(), m.parent.State
	if m.files != nil {
		req.Attachments = m.files
	}
	if shape.Iterator {
		req.Mode, req.AnyStream, req.Items = predict.Stream, true, c.sendItem
	}
	if m.stream != "" {
		req.Inlet = &predict.Inlet{Name: m.stream}
	}
	if size >= memory.MinCharge {
		if !c.o.Memory.Take(size, size) {
			refuse(memory.ErrFull)
			return
		}
		req.Charged = size
	}
	p, err := model.Assign(req)
	if err != nil {
		c.o.Memory.Free(req.Charged)
		refuse(err)
		return
	}
	defer p.Release()
	shown.Accept(p)
	defer func() { shown.End(time.Now()) }()
	c.accepted(p)
	if req.Inlet != nil {
		go c.feed(req.Inlet)
	}
	if shape.Files { // the caller may read them as long as its prediction runs
		for _, of := range c.of {
			p.Hold()
			of.OnRelease(p.Release)
		}
	}
	if shape.Iterator {
		_ = c.conn.Send(ipc.KindStarted, 0)
	}
	if err := p.Run(); err != nil {
		refuse(err)
		return
	}
	c.answer(p, m.model, shape)
	<-c.finished // until then the socket may send from the record
}

// callers returns the models that wait for this call, in order; the last one is the caller. The predictions of a batch
// may have come different ways: then the first one's is the end of the list.
func (c *call) callers() (names []string) {
	for _, p := range slices.Backward(c.of) {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(p.Request.Callers, name) })
		names = append(names, p.Request.Callers...)
	}
	return append(names, c.caller)
}

// deadline returns the deadline of the predictions that called: the latest of a batch's; zero means there is none. That
// of a job counts only until the job begins, because a client that waits for one did not set it.
func (c *call) deadline() (latest time.Time) {
	for _, p := range c.of {
		req := &p.Request
		if req.Deadline.IsZero() || req.Attempt > 0 {
			return time.Time{}
		}
		if req.Deadline.After(latest) {
			latest = req.Deadline
		}
	}
	return latest
}

// sendItem sends an item that the model yields. It does not block: if the caller reads slowly, it pauses the model.
func (c *call) sendItem(item []byte, pause func(bool)) {
	c.unread.add(len(item), pause)
	c.mu.Lock()
	p := c.p
	c.mu.Unlock()
	folder := p.Folder()
	_ = c.conn.Send(ipc.KindOutput, 0, answerOf(folder, bytes.Clone(item))...)
}

// answer sends the end of the prediction.
func (c *call) answer(p *predict.Prediction, model string, shape Shape) {
	rec := p.Record()
	switch rec.Status {
	case predict.Succeeded:
		output := value(rec.Output, rec.Tensors)
		if rec.Output == nil || shape.Iterator {
			output = [][]byte{[]byte("null")}
		}
		_ = c.conn.Send(ipc.KindSucceeded, 0, answerOf(p.Folder(), output...)...)
	case predict.Failed:
		_ = c.conn.Send(ipc.KindFailed, 0, errorOf(rec.Error))
	default:
		_ = c.conn.Send(ipc.KindFailed, 0, errorOf(fmt.Sprintf("the prediction of model %q was canceled", model)))
	}
}
