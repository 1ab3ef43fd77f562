package chaos

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// request is one prediction as its client wants it. The seed makes it.
type request struct {
	id, token, mode string
	do              string // what the model does to itself, or "raise"
	salt            uint32
	wait            float64 // seconds that it takes
	pad, items      int
	says, hook      bool
	file            bool
	leave           int // the client leaves: 1 at once, n after it has read n-2 bytes of the answer; 0 means never
	cancel          bool
	key             int // a batch has one
}

// source returns the random numbers of one part of a round.
func source(seed uint64, part ...int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, p := range part {
		h = (h ^ uint64(p)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// modes returns the modes of requests.
func modes(streams bool) []string {
	list := []string{"sync", "sync", "put", "async", "async", "wait"}
	if streams {
		return append(list, "stream", "stream")
	}
	return list
}

// newRequest makes a client's n-th request of a round.
func (g *rig) newRequest(round, client, n int) request {
	r := source(g.seed, round, client, n)
	ways := modes(g.streams)
	q := request{
		id:    fmt.Sprintf("r%d-c%d-%d", round, client, n),
		token: fmt.Sprintf("%016x", r.Uint64()),
		mode:  ways[r.IntN(len(ways))],
		says:  r.IntN(4) == 0,
		hook:  r.IntN(4) == 0,
		file:  r.IntN(8) == 0,
		items: -1,
	}
	if g.streams {
		q.items = r.IntN(6)
	}
	if r.IntN(2) == 0 {
		q.wait = r.Float64() / 250
	}
	switch n := r.IntN(80); {
	case n == 0:
		q.pad = 100_000
	case n < 10:
		q.pad = 20_000
	default:
		q.pad = r.IntN(200)
	}
	switch r.IntN(12) {
	case 0:
		q.leave = 1 + r.IntN(40)
		q.wait *= 4
	case 1:
		q.cancel = true
	case 2:
		q.do = "raise"
	}
	if g.batch > 0 {
		g.batched(&q, r)
	}
	return q
}

// batched makes the request one for a model that takes batches.
func (g *rig) batched(q *request, r *rand.Rand) {
	ways := []string{"raise", "raise", "refuse"}
	if g.around {
		ways = append(ways, "before", "after")
	} else if r.IntN(4) == 0 {
		q.key = 1 // a key that is rarely shared
	}
	if q.do == "raise" {
		q.do = ways[r.IntN(len(ways))]
	}
}

// body returns what is sent.
func (q request) body(hooks string) []byte {
	in := map[string]any{"token": q.token, "do": q.do, "salt": q.salt, "wait": q.wait, "pad": q.pad, "says": q.says}
	if q.items >= 0 {
		in["items"] = q.items
	}
	if q.file {
		in["file"] = "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(q.token))
	}
	if q.key > 0 {
		in["key"] = q.key
	}
	request := map[string]any{"id": q.id, "input": in}
	if q.hook {
		request["webhook"] = hooks + "/" + q.id
	}
	text, _ := json.Marshal(request) // texts and numbers
	return text
}

// asked returns the journal's entry.
func (q request) asked() entry {
	wait := q.wait
	if q.items == 0 {
		wait = 0 // it is spread over the items
	}
	return entry{
		What: "ask", ID: q.id, Token: q.token, Mode: q.mode, Do: q.do, Pad: q.pad, Items: q.items,
		Says: q.says, Hook: q.hook, File: q.file, Key: q.key, Wait: wait,
	}
}
