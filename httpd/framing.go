package httpd

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// framingError is why a connection's bytes are not one clear row of requests.
type framingError string

func (e framingError) Error() string { return string(e) }

const (
	errBareLF       framingError = "a line ends without a carriage return"
	errBareCR       framingError = "a line has a carriage return inside"
	errVersion      framingError = "the request's first line does not end with HTTP/1.0 or HTTP/1.1"
	errFolded       framingError = "a header continues on a second line"
	errHeaderName   framingError = "a header has no name, or one with a space"
	errLength       framingError = "the Content-Length is not one number"
	errLengths      framingError = "there are several Content-Length headers"
	errCoding       framingError = "the Transfer-Encoding is not chunked, which is the only one that this server takes"
	errCodings      framingError = "there are several Transfer-Encoding headers"
	errOldCoding    framingError = "HTTP/1.0 has no Transfer-Encoding"
	errBothLengths  framingError = "there are a Content-Length and a Transfer-Encoding"
	errChunkSize    framingError = "a chunk's size is not a hexadecimal number"
	errChunkLine    framingError = "a chunk's first line is too long"
	errChunkEnd     framingError = "a chunk does not end where its size says"
	errLongTrailers framingError = "a trailer is too long"
)

// framingStage is what the next byte belongs to.
type framingStage uint8

const (
	atStart     framingStage = iota // a request's first line, or the empty lines that may come before it
	atHeader                        // a header line, or the empty line after the last
	atBody                          // a body with a Content-Length
	atChunkSize                     // a chunk's first line
	atChunkData
	atChunkEnd // the line end after a chunk's data
	atTrailer  // a trailer line, or the empty line after the last
	atEnd      // nothing more counts: the last request said close, or fasthttp refuses what has come
)

const (
	maxChunkLine = 256 // bytes of a chunk's first line, extensions included
	maxHexDigits = 15
	maxDigits    = 18
)

// seenHeaders are headers that some request on a connection has had. Most connections never bring one of these, and then no
// handler searches for them.
type seenHeaders uint8

const (
	seenOrigin seenHeaders = 1 << iota // Origin or Sec-Fetch-Site
	seenRequestID
)

// framing follows the requests of a connection, byte by byte, before fasthttp sees them. It refuses what two readers might
// divide into requests in two ways (RFC 9112, section 11.2), such as a proxy and this server, so that nobody can hide a
// request inside another's body. fasthttp is lenient in some of that.
//
// Only the goroutine that reads the connection uses it.
type framing struct {
	stage   framingStage
	seen    seenHeaders
	old     bool // HTTP/1.0
	chunked bool
	sized   bool         // there was a Content-Length
	last    bool         // the request said that it is the last
	left    int64        // bytes of the body, or of the chunk's data, that have not come
	heads   uint64       // requests whose headers have ended
	ended   uint64       // requests that have come whole
	lastAt  uint64       // which of them was the last; 0: none so far
	pending []byte       // a line that has not come whole
	err     framingError // "": none
}

// follow looks at the next bytes. It returns how many of them may be passed on: all, unless err is set. Of a request whose
// headers are wrong and that begins here that is one byte: without any fasthttp would close the connection without an answer.
func (f *framing) follow(p []byte) int {
	begins := -1 // where the request of which headers are read begins in p
	for i := 0; i < len(p); {
		switch f.stage {
		case atEnd:
			return len(p)
		case atBody, atChunkData:
			n := min(f.left, int64(len(p)-i))
			i += int(n)
			if f.left -= n; f.left == 0 && f.stage == atBody {
				f.endRequest()
			} else if f.left == 0 {
				f.stage = atChunkEnd
			}
			continue
		case atStart:
			if len(f.pending) == 0 {
				if n := f.wholeHead(p[i:]); n > 0 {
					i += n
					continue
				}
				begins = i
			}
		}
		inHead := f.stage == atStart || f.stage == atHeader
		n := bytes.IndexByte(p[i:], '\n') + 1
		if n == 0 {
			if f.err = f.keep(p[i:]); f.err != "" {
				return i
			}
			return len(p)
		}
		line := p[i : i+n]
		if len(f.pending) > 0 {
			f.pending = append(f.pending, line...)
			line = f.pending
		}
		if f.err = f.line(line); f.err != "" {
			switch {
			case !inHead:
				return i
			case begins >= 0:
				return begins + 1
			default:
				return 0
			}
		}
		f.pending = f.pending[:0]
		i += n
	}
	return len(p)
}

// keep keeps the beginning of a line.
func (f *framing) keep(part []byte) framingError {
	long := len(f.pending) + len(part)
	switch {
	case (f.stage == atChunkSize || f.stage == atChunkEnd) && long > maxChunkLine:
		return errChunkLine
	case f.stage == atTrailer && long > readBuffer:
		return errLongTrailers
	case long > readBuffer:
		f.stage, f.pending = atEnd, nil // fasthttp answers 431
		return ""
	}
	f.pending = append(f.pending, part...)
	return ""
}

// line takes a whole line.
func (f *framing) line(line []byte) framingError {
	n := len(line) - 2
	if n < 0 || line[n] != '\r' {
		return errBareLF
	}
	line = line[:n]
	if bytes.IndexByte(line, '\r') >= 0 {
		return errBareCR
	}
	switch f.stage {
	case atStart:
		return f.firstLine(line)
	case atHeader:
		if n == 0 {
			return f.endHead()
		}
		return f.header(line)
	case atChunkSize:
		return f.chunkSize(line)
	case atChunkEnd:
		if n != 0 {
			return errChunkEnd
		}
		f.stage = atChunkSize
	default:
		if n == 0 {
			f.endRequest()
			return ""
		}
		_, err := headerName(line)
		return err
	}
	return ""
}

func (f *framing) firstLine(line []byte) framingError {
	if len(line) == 0 {
		return "" // RFC 9112, section 2.2: some clients send one after a body
	}
	const version = " HTTP/1.1"
	at := len(line) - len(version)
	if at < 0 || string(line[at:]) != version && string(line[at:]) != " HTTP/1.0" {
		return errVersion
	}
	f.stage, f.old = atHeader, line[len(line)-1] == '0'
	return ""
}

// headerName is the length of a header line's name. Its other bytes are fasthttp's to check.
func headerName(line []byte) (int, framingError) {
	for i, c := range line {
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

// isHeader compares a header's name; name begins with that small letter.
func isHeader(name []byte, want string, first byte) bool {
	return len(name) == len(want) && name[0]|0x20 == first && (string(name) == want || bytes.EqualFold(name, []byte(want)))
}

func (f *framing) header(line []byte) framingError {
	n, err := headerName(line)
	if err != "" {
		return err
	}
	switch name := line[:n]; {
	case isHeader(name, fasthttp.HeaderContentLength, 'c'):
		return f.contentLength(trim(line[n+1:]))
	case isHeader(name, fasthttp.HeaderConnection, 'c'):
		f.connection(line[n+1:])
	case isHeader(name, fasthttp.HeaderTransferEncoding, 't'):
		switch {
		case f.old:
			return errOldCoding
		case f.chunked:
			return errCodings
		case !bytes.EqualFold(trim(line[n+1:]), []byte("chunked")):
			return errCoding
		}
		f.chunked = true
	case isHeader(name, fasthttp.HeaderOrigin, 'o'), isHeader(name, headerFetchSite, 's'):
		f.seen |= seenOrigin
	case isHeader(name, headerRequestID, 'x'):
		f.seen |= seenRequestID
	}
	return ""
}

// wholeHead takes a request's first line and headers where p begins with all of them and nothing is wrong, and returns
// their length; else it takes nothing. It is follow's quicker way: one search a line.
func (f *framing) wholeHead(p []byte) int {
	for at, lines := 0, 0; ; lines++ {
		n := bytes.IndexByte(p[at:], '\r')
		if n < 0 || at+n+1 == len(p) || p[at+n+1] != '\n' {
			break
		}
		line := p[at : at+n]
		at += n + 2
		if lines > 0 && n == 0 {
			if bytes.Count(p[:at], []byte{'\n'}) != lines+1 || f.endHead() != "" {
				break
			}
			return at
		}
		if lines == 0 && (n == 0 || f.firstLine(line) != "") || lines > 0 && f.header(line) != "" {
			break
		}
	}
	f.stage, f.chunked, f.sized, f.last, f.left = atStart, false, false, false, 0
	return 0
}

func (f *framing) contentLength(value []byte) framingError {
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

// connection reads a list of options. fasthttp knows close only where it stands alone.
func (f *framing) connection(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		if bytes.EqualFold(trim(option), []byte("close")) {
			f.last = true
		}
	}
}

func (f *framing) endHead() framingError {
	if f.sized && f.chunked {
		return errBothLengths
	}
	f.heads++
	if f.last {
		f.lastAt = f.heads
	}
	switch {
	case f.chunked:
		f.stage = atChunkSize
	case f.left > 0:
		f.stage = atBody
	default:
		f.endRequest()
	}
	return ""
}

func (f *framing) chunkSize(line []byte) framingError {
	if len(line) > maxChunkLine {
		return errChunkLine
	}
	size, extension, _ := bytes.Cut(line, []byte{';'})
	if len(size) == 0 || len(size) > maxHexDigits || bytes.IndexByte(extension, 0) >= 0 {
		return errChunkSize
	}
	for _, c := range size {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return errChunkSize
		}
		f.left = f.left<<4 | int64(c)
	}
	f.stage = atChunkData
	if f.left == 0 {
		f.stage = atTrailer
	}
	return ""
}

// endRequest expects the next one.
func (f *framing) endRequest() {
	f.ended++
	f.stage, f.chunked, f.sized, f.left = atStart, false, false, 0
	if f.last {
		f.stage, f.pending = atEnd, nil
	}
}
