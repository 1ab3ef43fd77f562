package place

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"time"

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

// replay returns the kept result of a PUT's id and input. A canceled prediction runs again: its client may have been cut off.
func (p *Placer) replay(r *Request) Placed {
	kept, rec, ok := p.local(r.Kind, r.ID)
	if !ok {
		return Placed{}
	}
	ended := rec.Status == predict.Succeeded || rec.Status == predict.Failed
	if !ended || kept.Request.Digest != r.Digest || r.How.Kind == predict.Stream && !kept.Request.Streams {
		kept.Release()
		return Placed{}
	}
	if r.How.Kind == predict.Stream {
		return Placed{State: Made, Prediction: p.again(kept, rec)}
	}
	return Placed{State: Known, Prediction: kept, Record: &rec}
}

// again returns a prediction that emits what a kept one did: its outputs, its logs as of stdout, and its end.
func (p *Placer) again(kept *predict.Prediction, rec predict.Record) *predict.Prediction {
	req := predict.Request{
		ID: rec.ID, Kind: kept.Request.Kind, Mode: predict.Async, Created: rec.Created,
		CreatedText: rec.CreatedText, Version: rec.Version,
	}
	made := predict.New(rec.ID, &req, time.Now(), replayer{rec}, predict.Options{Memory: p.Memory})
	made.OnRelease(kept.Release)
	return made
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
