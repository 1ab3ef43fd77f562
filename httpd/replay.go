package httpd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// maxSorted is the largest input in bytes whose keys may have another order in a repeated PUT.
const maxSorted = 1 << 20

// inputDigest identifies the input of a request; "" means it has files, whose content it does not tell.
func inputDigest(req *predict.Request) string {
	if req.Attachments != nil || len(req.Form) > 0 || len(req.Tensors) > 0 {
		return ""
	}
	input := req.Input
	if len(input) <= maxSorted {
		reader := json.NewDecoder(bytes.NewReader(input))
		reader.UseNumber()
		var value map[string]any
		if reader.Decode(&value) == nil || len(input) == 0 {
			input, _ = json.Marshal(value) // sorts the keys; it cannot fail
		}
	}
	if string(input) == "null" {
		input = []byte("{}")
	}
	digest := sha256.Sum256(input)
	return string(digest[:])
}

// identify notes a request's input where repeated PUTs are answered with kept results.
func (s *Server) identify(req *predict.Request) {
	if s.opt.ReplayPuts && req.ID != "" {
		req.Digest = inputDigest(req)
	}
}

// replay answers a PUT with the kept result of that id and input; false means there is none. A canceled prediction runs
// again: its client may have been cut off.
func (k collection) replay(ctx *fasthttp.RequestCtx, req *predict.Request, how answerMode) bool {
	if !k.opt.ReplayPuts || req.Digest == "" {
		return false
	}
	p, rec, ok := k.local(req.ID)
	if !ok {
		return false
	}
	ended := rec.Status == predict.Succeeded || rec.Status == predict.Failed
	if !ended || p.Request.Digest != req.Digest || how.mode == predict.Stream && !p.Request.Streams {
		p.Release()
		return false
	}
	if how.mode == predict.Stream {
		k.streamNew(ctx, k.again(p, rec))
		return true
	}
	k.answerKept(ctx, p, &rec)
	if how.mode == predict.Async {
		restate(ctx, fasthttp.StatusAccepted)
	}
	return true
}

// answerKept answers with a prediction that is retained or in flight, and takes over the hold on it.
func (k collection) answerKept(ctx *fasthttp.RequestCtx, p *predict.Prediction, rec *predict.Record) {
	if rec.Status == predict.Succeeded && rendered(&ctx.Request.Header, true) == asFile {
		k.answerFile(ctx, rec, p)
	} else {
		k.writeObject(ctx, rec, p)
	}
}

// again returns a prediction that emits what a kept one did: its outputs, its logs as of stdout, and its end.
func (k collection) again(kept *predict.Prediction, rec predict.Record) *predict.Prediction {
	req := predict.Request{
		ID: rec.ID, Kind: k.kind, Mode: predict.Async, Created: rec.Created,
		CreatedText: rec.CreatedText, Version: rec.Version,
	}
	p := predict.New(rec.ID, &req, time.Now(), replayer{rec}, predict.Options{Memory: k.opt.Memory})
	p.OnRelease(kept.Release)
	return p
}

// replayer runs a prediction that has ended before.
type replayer struct{ rec predict.Record }

func (r replayer) Submit(*predict.Prediction) {}
func (r replayer) Cancel(*predict.Prediction) {}

func (r replayer) Run(p *predict.Prediction) error {
	end := predict.Result{Status: r.rec.Status, Error: r.rec.Error, Metrics: r.rec.Metrics, Yielded: true}
	p.Begin(r.rec.Started)
	p.Log("stdout", r.rec.Logs)
	for _, item := range rawjson.Items(r.rec.Output) {
		if !p.Output(item) {
			end.Status, end.Error = predict.Failed, "The stored output does not fit into the memory budget"
			break
		}
	}
	p.End(end, r.rec.Completed)
	return nil
}
