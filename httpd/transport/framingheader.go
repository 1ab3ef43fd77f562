package transport

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// headerName returns the length of a header line's name. fasthttp checks its other bytes.
func headerName(line []byte) (int, FramingError) {
	for i, c := range line {
		if c > ' ' && c != ':' {
			continue
		}
		switch {
		case c == ':' && i > 0:
			return i, ""
		case (c == ' ' || c == '\t') && i == 0:
			return 0, errFolded
		case c == ':' || c == ' ' || c == '\t':
			return 0, errHeaderName
		}
	}
	return 0, errHeaderName
}

func (f *framing) header(line []byte) FramingError {
	n, err := headerName(line)
	if err != "" {
		return err
	}
	name, value := line[:n], line[n+1:]
	switch name[0] | 0x20 {
	case 'c':
		if isHeader(name, fasthttp.HeaderContentLength) {
			return f.contentLength(trimSpace(value))
		}
		if isHeader(name, fasthttp.HeaderConnection) {
			f.connection(value)
		}
		return ""
	case 't':
		if isHeader(name, fasthttp.HeaderTransferEncoding) {
			return f.transferEncoding(trimSpace(value))
		}
	case 'u': // what follows is not HTTP, or not read
		f.last = f.last || isHeader(name, fasthttp.HeaderUpgrade) && equalFold(trimSpace(value), "websocket")
	}
	f.seen |= seenBit(name)
	return ""
}

func (f *framing) transferEncoding(value []byte) FramingError {
	switch {
	case f.old:
		return errOldCoding
	case f.chunked:
		return errCodings
	case !bytes.EqualFold(value, []byte("chunked")):
		return errCoding
	}
	f.chunked = true
	return ""
}

func (f *framing) contentLength(value []byte) FramingError {
	if f.sized {
		return errLengths
	}
	if len(value) == 0 || len(value) > maxDigits {
		return errLength
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return errLength
		}
		f.left = 10*f.left + int64(c-'0')
	}
	f.sized = true
	return ""
}

// connection reads a list of options. fasthttp recognizes close only if it is the only one.
func (f *framing) connection(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		if bytes.EqualFold(trimSpace(option), []byte("close")) {
			f.last = true
		}
	}
}

// trimSpace removes the white space that HTTP allows around a value.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
