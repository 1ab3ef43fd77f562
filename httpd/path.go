package httpd

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pinion/runtime/rawjson"
)

const (
	maxID     = 256 // characters
	idPattern = `^[^/\u0000-\u001f\u007f-\u009f]*$`
)

// pathID is the id in a request's path; false where its escapes cannot be decoded: it names nothing.
func pathID(ctx *fasthttp.RequestCtx) (string, bool) {
	segment, _ := ctx.UserValue("id").(string)
	// Decoding copies where it changes something; where it does not, the id is a part of the request's
	// buffer and must not outlive it.
	id, err := url.PathUnescape(segment)
	return strings.Clone(id), err == nil
}

// checkID says what is wrong with an id that a path names for a new prediction.
func (k collection) checkID(id string) error {
	var bad problems
	bad.checkID(id, func() string { return quote(rawjson.AppendQuoted(nil, id)) }, "path", k.noun+"_id")
	return bad.err()
}

// checkID wants id to be one: it becomes a part of paths, and a key of logs and folders. shown is how a
// message shows it.
func (p *problems) checkID(id string, shown func() string, where, name string) {
	switch {
	case id == "":
		p.add(`"" is shorter than 1 characters`, where, name)
	case utf8.RuneCountInString(id) > maxID:
		p.add(shown()+` is longer than `+strconv.Itoa(maxID)+` characters`, where, name)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return r == '/' || unicode.IsControl(r) }):
		p.add(shown()+` does not match "`+idPattern+`"`, where, name)
	}
}
