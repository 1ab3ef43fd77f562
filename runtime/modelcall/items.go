package modelcall

import (
	"errors"

	"pinion/ipc"
	"pinion/runtime/predict"
)

// maxSentItems is how many items of a streamed input, and their end, a caller sends before the first of them is taken
// (pyembed/sdk/cog/_worker/callitems.py).
const maxSentItems = 32 + 1

// item is a frame of the caller's iterator.
type item struct {
	kind   ipc.Kind
	binary bool
	body   []byte
}

// feed puts the items until their end, or that of the call.
func (c *call) feed(to *predict.Inlet) {
	for {
		if len(c.items) == 0 {
			to.Flush()
		}
		select {
		case next := <-c.items:
			if next.kind == ipc.KindItemsEnd {
				to.End(string(next.body))
				return
			}
			if err := c.put(to, next); err != nil {
				if !errors.Is(err, predict.ErrInletClosed) {
					to.End(predict.ItemReason(err))
				}
				return
			}
			_ = c.conn.Send(ipc.KindRead, 1) // watchSocket sees a caller that is gone
		case <-c.finished:
			return
		}
	}
}

func (c *call) put(to *predict.Inlet, next item) error {
	if next.binary {
		return to.Put(predict.Item{Value: next.body, Binary: true}, c.finished)
	}
	m, err := read(next.body)
	if err != nil {
		return err
	}
	return to.Put(predict.Item{Value: m.input, Tensors: m.tensors, Attachments: m.files}, c.finished)
}
