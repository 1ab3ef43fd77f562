package dashboard

import (
	"strings"

	"github.com/valyala/fasthttp"
)

// maxWanted is how many bytes a text to find may have.
const maxWanted = 200

// found is the answer of search.
type found struct {
	Found    []prediction `json:"found"`    // the newest first
	Searched int          `json:"searched"` // how many were searched
	Most     int          `json:"most"`     // bound of Found
}

// search answers with ended predictions that have the text of ?q=… in their id, error or trace, of all that the server
// has.
func (v *View) search(ctx *fasthttp.RequestCtx) {
	wanted := strings.ToLower(strings.TrimSpace(string(ctx.QueryArgs().Peek("q"))))
	if wanted == "" || len(wanted) > maxWanted {
		refuse(ctx, fasthttp.StatusBadRequest, "Name what to find, as ?q=TEXT, in at most 200 bytes")
		return
	}
	summaries, searched := v.o.Search(wanted, shownPredictions)
	ctx.Response.Header.Set("Cache-Control", "no-store")
	answer(ctx, found{rows(summaries), searched, shownPredictions})
}
