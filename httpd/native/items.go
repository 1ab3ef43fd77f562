package native

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/body"
	"pinion/httpd/place"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

// itemFormat is how the body of a request has the items of a streamed input.
type itemFormat uint8

const (
	noItems   itemFormat = iota
	jsonLines            // the request in the first line, then an item a line
	octets               // each piece is an item; the other inputs are in the query
)

const maxOctets = 64 << 10 // bytes of an item that is a piece of a body

// itemsOf returns the format of the items in a request's body.
func itemsOf(h *fasthttp.RequestHeader) itemFormat {
	t, _, _ := bytes.Cut(h.ContentType(), []byte{';'})
	switch string(bytes.ToLower(bytes.TrimSpace(t))) {
	case "application/x-ndjson":
		return jsonLines
	case "application/octet-stream":
		return octets
	}
	return noItems
}

// items reads the items in a request's body while the prediction runs.
type items struct {
	k    Collection
	conn *transport.Conn
	from *bufio.Reader
	to   *predict.Inlet
	idle time.Duration
}

// readItems reads the beginning of a request whose body has items, and has the rest read while it is answered.
func (k Collection) readItems(ctx *fasthttp.RequestCtx, req *place.Request, format itemFormat) error {
	switch {
	case len(ctx.Request.Header.ContentEncoding()) > 0:
		return &request.Error{Reason: "a body of items cannot be compressed"}
	case req.How.Kind == predict.Async || req.How.Bounded:
		return &request.Error{Reason: "a request whose items come while it is answered takes no Prefer: respond-async or wait"}
	}
	conn, _ := ctx.Conn().(*transport.Conn)
	in := &items{k: k, conn: conn, to: &predict.Inlet{}, idle: k.StreamIdle}
	from := ctx.RequestBodyStream()
	if from == nil {
		from = bytes.NewReader(ctx.Request.Body())
	}
	in.from = bufio.NewReaderSize(from, maxOctets)
	read := in.octets
	if format == jsonLines {
		read = in.lines
		line, charged, err := in.line()
		if errors.Is(err, memory.ErrFull) {
			return err
		}
		if err != nil && (err != io.EOF || len(line) == 0) {
			k.Bodies.Memory.Free(charged)
			return &request.Error{Reason: "the first line of the body is not the request: " + err.Error()}
		}
		first := body.New(line, charged, nil, k.Bodies.Memory)
		if err := req.ReadJSON(&first, true); err != nil {
			return err
		}
	} else {
		for name, value := range ctx.QueryArgs().All() {
			req.Form = append(req.Form, predict.FormField{Name: string(name), Value: bytes.Clone(value)})
		}
	}
	if err := conn.ChargeInUse(&ctx.Request.Header); err != nil {
		return err
	}
	req.Inlet = in.to
	k.Out.Transport.Feed(ctx, func(stop <-chan struct{}) bool { return in.feed(read, stop) })
	return nil
}

// feed puts the items until the end of the body. false means that the client has disconnected.
func (in *items) feed(read func() (predict.Item, error), stop <-chan struct{}) bool {
	for index := 0; ; index++ {
		if in.from.Buffered() == 0 {
			in.to.Flush()
		}
		item, err := read()
		var timeout interface{ Timeout() bool }
		switch {
		case err == nil:
		case err == io.EOF && (in.conn == nil || in.conn.Whole()):
			in.to.End("")
			return true
		case errors.Is(err, memory.ErrFull):
			in.to.End(predict.ItemReason(err))
			return in.discard()
		case errors.Is(err, errItem):
			in.to.End(fmt.Sprintf("item %d: %v", index, err))
			return in.discard()
		case errors.As(err, &timeout) && timeout.Timeout():
			in.to.End(fmt.Sprintf("no item came for %s", in.idle))
			return in.discard()
		default:
			return false
		}
		if err := in.to.Put(item, stop); err != nil {
			in.to.End(predict.ItemReason(err))
			return in.discard()
		}
	}
}

// discard reads what is left of the body.
func (in *items) discard() bool {
	in.conn.ReadWithin(1 << 50)
	_, err := io.Copy(io.Discard, in.from)
	return err == nil && in.conn.Whole()
}

var errItem = errors.New("the item is invalid")

// lines returns the item in the next line.
func (in *items) lines() (predict.Item, error) {
	for {
		line, charged, err := in.line()
		in.k.Bodies.Memory.Free(charged) // Put charges what is kept
		if len(bytes.TrimSpace(line)) == 0 {
			if err != nil {
				return predict.Item{}, err
			}
			continue
		}
		if bad := rawjson.Check(line); bad != nil {
			return predict.Item{}, fmt.Errorf("%w: %w", errItem, bad)
		}
		return predict.Item{Value: line}, nil // the end of the body comes again
	}
}

// line returns a copy of the next line, without its end, and what it is charged to the memory budget, which the caller
// frees. io.EOF comes with the last.
func (in *items) line() (line []byte, charged int64, err error) {
	for {
		in.wait()
		part, err := in.from.ReadSlice('\n')
		if size := int64(len(line) + len(part)); size >= memory.MinCharge && size > charged {
			more := 2*size - charged // append may double it
			if !in.k.Bodies.Memory.Take(more, 2*size) {
				in.k.Bodies.Memory.Free(charged)
				return nil, 0, memory.ErrFull
			}
			charged += more
		}
		line = append(line, part...)
		switch {
		case int64(len(line)) > in.k.Bodies.MaxBody:
			return nil, charged, fmt.Errorf("%w: it has more than %d bytes", errItem, in.k.Bodies.MaxBody)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return bytes.TrimSuffix(line, []byte{'\n'}), charged, err
	}
}

// octets returns the next piece of the body.
func (in *items) octets() (predict.Item, error) {
	in.wait()
	if _, err := in.from.Peek(1); err != nil {
		return predict.Item{}, err
	}
	piece := make([]byte, min(in.from.Buffered(), maxOctets))
	_, err := in.from.Read(piece)
	return predict.Item{Value: piece, Binary: true}, err
}

// wait gives the client time for its next item.
func (in *items) wait() {
	if in.conn != nil && in.from.Buffered() == 0 {
		in.conn.ReadWithin(in.idle)
	}
}
