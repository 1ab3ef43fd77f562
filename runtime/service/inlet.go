package service

import (
	"bytes"
	"context"
	"fmt"

	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

// prepareInlet makes an inlet check and prepare its items, and returns the schema of the other inputs.
func (x *execution) prepareInlet(input *schema.Schema, in *predict.Inlet) (*schema.Schema, error) {
	items := input.Stream()
	if items == nil {
		return nil, predict.ErrNotStreamed
	}
	if in.Name != "" && in.Name != items.Name {
		return nil, items.NotStreamed(in.Name)
	}
	in.Memory, in.YieldsBytes = x.service.o.Prediction.Memory, items.YieldsBytes
	in.Prepare = func(index int, item predict.Item) (predict.Item, error) {
		if o := x.service.o.Observer; o != nil {
			o.StreamItem(false, len(item.Value))
		}
		if item.Binary {
			return item, items.Binary(index)
		}
		prepared, err := items.Prepare(index, item.Value)
		if err != nil {
			return item, err
		}
		for i := range prepared.Files {
			if f := &prepared.Files[i]; f.URL == "" {
				f.Path = item.Attachments.Path(f.Attached)
			}
		}
		if len(prepared.Files) > 0 {
			fetched, cleanup, err := x.service.o.Files.Fetch(x.p.Request.Trace.In(context.Background()), x.p.ID(), prepared)
			if err != nil {
				return item, fmt.Errorf("%s/%d: %w", items.Name, index, err)
			}
			x.p.OnRelease(cleanup)
			prepared.Input = fetched
		}
		item.Value = prepared.Input
		if item.Tensors != nil {
			item.Value = bytes.Join(WithTensors(item.Value, item.Tensors), nil)
		}
		return item, nil
	}
	return items.Others, nil
}
