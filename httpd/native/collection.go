package native

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

// Collection is the routes of a model under /predictions or /trainings. The two differ in their kind and their messages.
type Collection struct {
	*Front
	placer *place.Placer
	kind   predict.Kind
	noun   string // "prediction"; the path has the plural
	title  string // "Prediction"
}

// Predictions returns the routes of a model's predictions.
func (f *Front) Predictions(of *place.Placer) Collection {
	return Collection{f, of, predict.KindPrediction, "prediction", "Prediction"}
}

// Trainings returns the routes of a model's trainings.
func (f *Front) Trainings(of *place.Placer) Collection {
	return Collection{f, of, predict.KindTraining, "training", "Training"}
}

// Path returns the path of the collection.
func (k Collection) Path() string { return "/" + k.noun + "s" }

// Create answers POST: it creates and runs a prediction.
func (k Collection) Create(ctx *fasthttp.RequestCtx) { k.place(ctx, "") }

// Put answers PUT: like Create, but if the id is in flight the client joins that prediction.
func (k Collection) Put(ctx *fasthttp.RequestCtx) {
	id, ok := pathID(ctx)
	if !ok || k.unserved() {
		k.Out.NotFound(ctx)
		return
	}
	if err := k.checkID(id); err != nil {
		k.Out.Refuse(ctx, err)
		return
	}
	k.place(ctx, id)
}

// place answers a request for a prediction with an id of the client's path, or "".
func (k Collection) place(ctx *fasthttp.RequestCtx, id string) {
	req := place.Request{Memory: k.Bodies.Memory}
	defer req.Discard()
	err := k.Read(ctx, &req)
	if err == nil && id != "" && req.ID != "" && req.ID != id {
		var bad request.Problems
		bad.Add(k.noun+" ID must match the ID supplied in the URL", "body", "id")
		err = bad.Err()
	}
	if err != nil {
		k.Out.Refuse(ctx, err)
		return
	}
	if id != "" {
		req.ID, req.Idempotent = id, true
	}
	placed, err := k.placer.Place(&req)
	if err != nil {
		k.Out.Refuse(ctx, err)
		return
	}
	k.respond(ctx, placed)
}

// Get answers GET with the state of a prediction.
func (k Collection) Get(ctx *fasthttp.RequestCtx) {
	if k.unserved() {
		k.Out.NotFound(ctx)
		return
	}
	if id, ok := pathID(ctx); ok {
		if id == sessionPath && k.kind == predict.KindPrediction && Upgrades(ctx) {
			k.Traced(k.Path()+"/"+sessionPath, k.Converse)(ctx)
			return
		}
		var rec predict.Record
		placed, err := k.placer.Find(k.kind, id, ctx.QueryArgs().Has("calls"), &rec)
		switch {
		case err != nil:
			k.Out.Refuse(ctx, err)
			return
		case placed.State == place.Known:
			rec.Members = placed.Prediction.Calls(time.Now()).AppendTo(rec.Members)
			k.answerKept(ctx, placed.Prediction, &rec)
			return
		case placed.State == place.Queued:
			answerQueued(ctx, placed)
			return
		}
	}
	k.Out.Detail(ctx, fasthttp.StatusNotFound, k.title+" not found")
}

// File answers with a file of a prediction's output, which is a data URL there: of a number in the order of the output.
func (k Collection) File(ctx *fasthttp.RequestCtx) {
	id, ok := pathID(ctx)
	segment, _ := ctx.UserValue("number").(string)
	number, err := strconv.ParseUint(segment, 10, 31)
	if !ok || err != nil || k.unserved() {
		k.Out.NotFound(ctx)
		return
	}
	var rec predict.Record
	placed, err := k.placer.Find(k.kind, id, false, &rec)
	if err != nil {
		k.Out.Refuse(ctx, err)
		return
	}
	var of memory.Owner
	switch placed.State {
	case place.Known:
		of = placed.Prediction
	case place.Queued:
		of = placed.Accepted.Owner
		for key, value := range rawjson.Members(placed.Accepted.Object) {
			if rawjson.KeyIs(key, "output") {
				rec.Output = value
			}
		}
	default:
		k.Out.Detail(ctx, fasthttp.StatusNotFound, k.title+" not found")
		return
	}
	for n, f := range protocol.DataFiles(rec.Output) {
		if uint64(n) == number && f.Valid() {
			answers.DataFile(ctx, f, of)
			return
		}
	}
	if of != nil {
		of.Release()
	}
	k.Out.Detail(ctx, fasthttp.StatusNotFound, "File not found")
}

// Cancel answers at once. The request that created the prediction gets its result.
func (k Collection) Cancel(ctx *fasthttp.RequestCtx) {
	if k.unserved() {
		k.Out.NotFound(ctx)
		return
	}
	id, ok := pathID(ctx)
	canceled, err := false, error(nil)
	if ok {
		canceled, err = k.placer.Cancel(k.kind, id)
	}
	switch {
	case canceled:
		answers.Literal(ctx, fasthttp.StatusOK, "{}")
	case err != nil:
		k.Out.Refuse(ctx, err)
	default:
		answers.Literal(ctx, fasthttp.StatusNotFound, "{}")
	}
}

// unserved reports whether the model lacks this kind.
func (k Collection) unserved() bool {
	return k.kind == predict.KindTraining && !k.placer.Route.Model().HasTraining()
}

// Read reads the headers and the body of a create request into req.
func (k Collection) Read(ctx *fasthttp.RequestCtx, req *place.Request) error {
	if k.unserved() {
		return predict.ErrNoTraining
	}
	h := &ctx.Request.Header
	form, encoding, err := negotiate.FormOf(h)
	items, raw := noItems, ""
	if err != nil {
		var bad error
		if raw, bad = k.rawInput(ctx); bad != nil {
			return bad
		}
		if raw != "" {
			if encoding, err = negotiate.CodingIn(h); err != nil {
				return err
			}
			form = request.FormData
		} else if items = itemsOf(h); items == noItems {
			return err
		}
	}
	how := negotiate.Mode{}
	if transport.HasSeen(ctx, transport.SeenAccept|transport.SeenPrefer) {
		how = negotiate.ReadMode(h)
		if how.OrObject {
			req.Instead = negotiate.ReadPrefer(h)
		}
	}
	if k.kind == predict.KindTraining && how.OrObject {
		how = req.Instead
	}
	req.How, req.ContentType = how, h.ContentType()
	if items != noItems {
		err = k.readItems(ctx, req, items)
	} else if form == request.JSON && encoding == negotiate.Plain {
		var read body.Body
		if read, err = k.Bodies.Take(ctx); err == nil {
			err = req.ReadJSON(&read, len(req.ContentType) > 0)
		}
	} else {
		err = k.readOther(ctx, req, form, encoding, raw)
	}
	if err != nil {
		return err
	}
	meta, err := k.Meta(ctx)
	if err != nil {
		return err
	}
	meta.For(&req.Request)
	req.Kind, req.Mode = k.kind, how.Prediction()
	req.WantFile = transport.HasSeen(ctx, transport.SeenAccept) && negotiate.Rendered(h, true) == negotiate.AsFile
	if k.kind == predict.KindTraining && how.Kind == predict.Stream {
		return predict.ErrTrainingStream
	}
	return nil
}

// readOther reads the body of a create request that is not plain JSON into req. raw is the input whose content it is,
// or "".
func (k Collection) readOther(ctx *fasthttp.RequestCtx, req *place.Request, form request.Format,
	encoding negotiate.Coding, raw string,
) error {
	in, err := k.Bodies.Open(ctx, encoding)
	if err != nil {
		return err
	}
	defer in.Close()
	if form == request.JSON {
		read, err := k.Bodies.ReadAll(in)
		if err != nil {
			return err
		}
		return req.ReadJSON(&read, len(req.ContentType) > 0)
	}
	room, body := &request.Room{Budget: k.Bodies.Memory, From: in.Raw.Conn}, io.Reader(in)
	contentType := string(req.ContentType)
	if raw != "" {
		body, contentType = asForm(ctx, raw, in)
		req.ContentType = []byte(contentType)
	}
	if k.placer.Keeps(req.How) {
		kept, err := room.ReadAll(body)
		if err != nil {
			req.Charged = room.Bytes()
			return err
		}
		body, req.Raw = bytes.NewReader(kept), kept
	}
	reader := request.Reader{
		Memory: k.Bodies.Memory, MaxBody: k.Bodies.MaxBody, NewFiles: k.placer.Route.Model().NewAttachments,
	}
	if req.Request, err = reader.Read(body, form, contentType, room); err != nil {
		if err = cmp.Or(in.Failed(), err); errors.Is(err, request.ErrTooLarge) {
			err = fasthttp.ErrBodyTooLarge
		}
	}
	return err
}

// pathID returns the id in a request's path, or false if its escapes are invalid.
func pathID(ctx *fasthttp.RequestCtx) (string, bool) {
	segment, _ := ctx.UserValue("id").(string)
	// Decoding copies only if it changes something. Otherwise the id is part of the request's buffer and must be copied.
	id, err := url.PathUnescape(segment)
	return strings.Clone(id), err == nil
}

// checkID says what is wrong with the id in the path of a new prediction.
func (k Collection) checkID(id string) error {
	var bad request.Problems
	bad.CheckID(id, func() string { return request.Quote(rawjson.AppendQuoted(nil, id)) }, "path", k.noun+"_id")
	return bad.Err()
}
