package transport

import (
	"bytes"
)

// FramingError is why a connection's bytes are not an unambiguous sequence of requests.
type FramingError string

func (e FramingError) Error() string { return string(e) }

const (
	errBareLF       FramingError = "a line ends without a carriage return"
	errBareCR       FramingError = "a line has a carriage return inside"
	errVersion      FramingError = "the request's first line does not end with HTTP/1.0 or HTTP/1.1"
	errFolded       FramingError = "a header continues on a second line"
	errHeaderName   FramingError = "a header has no name, or one with a space"
	errLength       FramingError = "the Content-Length is not one number"
	errLengths      FramingError = "several Content-Length headers"
	errCoding       FramingError = "the Transfer-Encoding is not chunked, which is the only one that this server takes"
	errCodings      FramingError = "several Transfer-Encoding headers"
	errOldCoding    FramingError = "HTTP/1.0 has no Transfer-Encoding"
	errBothLengths  FramingError = "both Content-Length and Transfer-Encoding are set"
	errChunkSize    FramingError = "a chunk's size is not a hexadecimal number"
	errChunkLine    FramingError = "a chunk's first line is too long"
	errChunkEnd     FramingError = "a chunk does not end where its size says"
	errLongTrailers FramingError = "a trailer is too long"
)

// framingStage is which part of a request the next byte belongs to.
type framingStage uint8

const (
	atStart     framingStage = iota // a request's first line, or empty lines before it
	atHeader                        // a header line, or the empty line after the last
	atBody                          // a body with a Content-Length
	atChunkSize                     // a chunk's first line
	atChunkData
	atChunkEnd // the line end after a chunk's data
	atTrailer  // a trailer line, or the empty line after the last
	atEnd      // the rest is ignored: the last request said close, or fasthttp refuses it
)

const (
	maxChunkLine = 256 // bytes of a chunk's first line, extensions included
	maxHexDigits = 15
	maxDigits    = 18
)

// framing parses the boundaries of a connection's requests before fasthttp sees them. It refuses bytes that a proxy and
// this server might split into requests differently (RFC 9112, section 11.2), so that no client can smuggle a request
// in another's body. fasthttp is too lenient for that.
//
// Only the goroutine that reads the connection uses it.
type framing struct {
	stage   framingStage
	seen    SeenHeaders
	old     bool // HTTP/1.0
	chunked bool
	sized   bool         // there was a Content-Length
	last    bool         // the request is the connection's last
	left    int64        // missing bytes of the body, or of the chunk's data
	heads   uint64       // requests whose headers have ended
	ended   uint64       // requests that were received completely
	lastAt  uint64       // number of the last request; 0 means none so far
	pending []byte       // an incomplete line
	err     FramingError // "" means none
}

// inHead reports whether a request's header has begun and not ended.
func (f *framing) inHead() bool {
	return f.stage == atHeader || f.stage == atStart && len(f.pending) > 0
}

// shrink frees the memory of the headers that were kept, which may be much. What is pending behind them stays: a
// chunk's line may have begun.
func (f *framing) shrink() {
	if f.inHead() {
		f.pending = nil
		return
	}
	f.pending = bytes.Clone(f.pending)
}

// follow parses the next bytes, and returns how many may be passed on: all, unless err is set. Of a request with
// invalid headers it passes one byte on: without any, fasthttp would close the connection without an answer.
func (f *framing) follow(p []byte) int {
	begins := -1 // offset in p of the request whose headers are read
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

// keep stores the beginning of a line.
func (f *framing) keep(part []byte) FramingError {
	long := len(f.pending) + len(part)
	switch {
	case (f.stage == atChunkSize || f.stage == atChunkEnd) && long > maxChunkLine:
		return errChunkLine
	case f.stage == atTrailer && long > ReadBuffer:
		return errLongTrailers
	case long > ReadBuffer:
		f.stage, f.pending = atEnd, nil // fasthttp answers 431
		return ""
	}
	f.pending = append(f.pending, part...)
	return ""
}

// line parses a complete line.
func (f *framing) line(line []byte) FramingError {
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

func (f *framing) firstLine(line []byte) FramingError {
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

// wholeHead is follow's fast path: if p begins with a complete, valid request head it parses it and returns its
// length, with one search a line; else it returns 0.
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

func (f *framing) endHead() FramingError {
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

func (f *framing) chunkSize(line []byte) FramingError {
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

// endRequest expects the next request.
func (f *framing) endRequest() {
	f.ended++
	f.stage, f.chunked, f.sized, f.left = atStart, false, false, 0
	if f.last {
		f.stage, f.pending = atEnd, nil
	}
}
