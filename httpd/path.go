package httpd

import (
	"bytes"
	"net/url"

	"github.com/valyala/fasthttp"
)

// unescapePath decodes the escapes in a request's path for the router, which compares paths as they came. Those of "/"
// and "%" stay, in capitals: a segment is decoded when it is read. An invalid path stays as it is.
func unescapePath(ctx *fasthttp.RequestCtx) {
	uri := ctx.Request.URI()
	path := uri.PathOriginal()
	if bytes.IndexByte(path, '%') < 0 {
		return
	}
	if _, err := url.PathUnescape(string(path)); err != nil {
		return
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if c = unhex(path[i+1])<<4 | unhex(path[i+2]); c == '/' || c == '%' {
				out = append(out, bytes.ToUpper(path[i:i+2])...)
				c = bytes.ToUpper(path[i+2 : i+3])[0]
			}
			i += 2
		}
		out = append(out, c)
	}
	uri.SetPathBytes(out)
}

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&7 + 9
}

// unescaped decodes a segment of a path. An invalid one stays as it is.
func unescaped(segment string) string {
	text, err := url.PathUnescape(segment)
	if err != nil {
		return segment
	}
	return text
}
