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

// pathID returns the id in a request's path; false: its escapes are invalid.
func pathID(ctx *fasthttp.RequestCtx) (string, bool) {
	segment, _ := ctx.UserValue("id").(string)
	// Decoding copies only if it changes something. Otherwise the id is part of the request's buffer and must be copied.
	id, err := url.PathUnescape(segment)
	return strings.Clone(id), err == nil
}

// checkID says what is wrong with the id in the path of a new prediction.
func (k collection) checkID(id string) error {
	var bad problems
	bad.checkID(id, func() string { return quote(rawjson.AppendQuoted(nil, id)) }, "path", k.noun+"_id")
	return bad.err()
}

// checkID requires a valid id: it becomes a part of paths, logs and folder names. shown returns it for a message.
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
