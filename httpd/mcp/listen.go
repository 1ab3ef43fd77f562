package mcp

import (
	"bytes"
	"slices"

	"pinion/runtime/rawjson"
)

// listen answers with a stream that tells when the tools have changed, because a model was loaded, reloaded or removed.
func (r *request) listen() *rpcError {
	filter := member(r.params, "notifications")
	switch {
	case rawjson.KindOf(filter) != rawjson.KindObject:
		return refusal(codeParams, "notifications must be an object")
	case member(filter, "taskIds") != nil && !r.declaresTasks():
		return lacksTasks()
	}
	told := r.tools()
	id := bytes.Clone(r.id)
	wanted := string(member(filter, "toolsListChanged")) == "true"
	agreed := `,"notifications":{}`
	if wanted {
		agreed = `,"notifications":{"toolsListChanged":true}`
	}
	notify := func(dst []byte, method, more string) []byte {
		dst = append(append(append(dst, eventHead+`{"jsonrpc":"2.0","method":"notifications/`...), method...), `","params":{`...)
		return append(append(addSubscription(dst, id), more...), "}}\n\n"...)
	}
	begun := false
	r.x.Feed(func(dst []byte, last bool) []byte {
		switch {
		case !begun:
			begun = true
			return notify(dst, "subscriptions/acknowledged", agreed)
		case last:
			dst = append(append(append(dst, eventHead+`{"jsonrpc":"2.0","id":`...), id...), `,"result":{"resultType":"complete",`...)
			return append(addSubscription(dst, id), "}}\n\n"...)
		case !wanted:
			return dst
		}
		r.models = r.list()
		now := r.tools()
		same := slices.EqualFunc(told, now, func(a, b *tool) bool { return a == b || bytes.Equal(a.new, b.new) })
		if told = now; same {
			return dst
		}
		return notify(dst, "tools/list_changed", "")
	})
	return nil
}

// addSubscription appends the member of a message that says to which listen it belongs.
func addSubscription(dst, id []byte) []byte {
	return append(append(append(dst, `"_meta":{"io.modelcontextprotocol/subscriptionId":`...), id...), '}')
}
