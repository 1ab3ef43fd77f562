package oip

import (
	"slices"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Items takes the tensor of the streamed input f out of a request, and returns its items. Files go to those of c, which the
// caller closes. charge charges the memory that the items take, before they are made.
func (r *Request) Items(c *protocol.Call, f *protocol.Field, m *protocol.Model,
	charge func(bytes int64) *protocol.Error,
) ([]predict.Item, *protocol.Error) {
	at := slices.IndexFunc(r.Inputs, func(t Tensor) bool { return t.Name == f.Name })
	if at < 0 {
		return nil, nil
	}
	t, item := r.Inputs[at], f.Value.Item
	r.Inputs = slices.Delete(r.Inputs, at, at+1)
	// A tensor of texts or scalars has an item in each element, else in each part of its first dimension.
	each := isScalar(item) || t.Type.Size == 0 && leaf(item).Kind != protocol.Text
	checked := &protocol.Signature{Inputs: []protocol.Field{{Name: f.Name, Value: f.Value}}}
	if each {
		checked.Inputs[0].Value = *item
	}
	if err := new(Request).check(&t, checked, map[string]bool{}, &Rows{}); err != nil {
		return nil, err
	}
	if len(t.Shape) == 0 {
		return nil, bad("input %q has shape []: its first dimension must be that of the items", t.shown())
	}
	n := int(t.Shape[0])
	if err := protocol.CheckRows(n); err != nil {
		return nil, err
	}
	if cost := t.cost(&checked.Inputs[0].Value); cost > protocol.FewBytes {
		if err := charge(cost); err != nil {
			return nil, err
		}
	}
	if item.Base64 && t.Raw != nil {
		items := make([]predict.Item, n)
		for i, content := range t.texts() {
			items[i] = predict.Item{Value: content, Binary: true}
		}
		return items, nil
	}
	rows := make(rowTexts, n)
	c.Tensors = nil
	if each {
		if err := t.addTo(c, rows, item, m); err != nil {
			return nil, err
		}
	} else if err := t.addParts(c, rows, item, m); err != nil {
		return nil, err
	}
	items := make([]predict.Item, n)
	for i, row := range rows {
		members := rawjson.Object(append(row, '}'))
		_, value, _ := members.Next()
		items[i] = predict.Item{Value: value, Tensors: c.Tensors}
		if c.Attachments != nil {
			items[i].Attachments = c.Attachments
		}
	}
	return items, nil
}

// addParts adds the parts of the first dimension to a row each, as values v.
func (t *Tensor) addParts(c *protocol.Call, rows rowTexts, v *protocol.Value, m *protocol.Model) *protocol.Error {
	part := Tensor{Name: t.Name, Type: t.Type, Shape: t.Shape[1:]}
	count, _ := count(part.Shape)
	size := int(count) * t.Type.Size
	if size == 0 {
		tokens, err := t.tokens(c)
		if err != nil {
			return err
		}
		t.Tokens = tokens
	}
	for i := range rows {
		if size > 0 {
			part.Raw = t.Raw[i*size : (i+1)*size]
		} else {
			part.Tokens = t.Tokens[i*int(count) : (i+1)*int(count)]
		}
		if err := part.addTo(c, rows[i:i+1], v, m); err != nil {
			return err
		}
	}
	return nil
}
