package negotiate

import "bytes"

// Coding is a content coding (RFC 9110) that this server reads and writes. The greater is the better one. deflated is
// for clients of other protocols only: Triton's has it.
type Coding uint8

const (
	Plain Coding = iota
	Deflate
	Gzip
	Zstd
)

// String returns its name in headers.
func (c Coding) String() string {
	switch c {
	case Deflate:
		return "deflate"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return "identity"
}

// Readable is the Accept-Encoding for request bodies.
const Readable = "gzip, zstd"

// CodingOf returns the coding that a Content-Encoding names; false means an unknown one.
func CodingOf(header []byte) (Coding, bool) {
	switch name := bytes.ToLower(Trim(header)); string(name) {
	case "", "identity":
		return Plain, true
	case "gzip", "x-gzip":
		return Gzip, true
	case "zstd":
		return Zstd, true
	}
	return Plain, false
}

// AnyCodingOf is codingOf for other protocols' requests and answers.
func AnyCodingOf(header []byte) (Coding, bool) {
	if bytes.EqualFold(Trim(header), []byte("deflate")) {
		return Deflate, true
	}
	return CodingOf(header)
}

// BestCoding returns the coding that an Accept-Encoding header prefers, of those that codings knows.
func BestCoding(asked []byte, codings func([]byte) (Coding, bool)) Coding {
	best, most := Plain, 0
	rest := 0 // of *
	var named [Zstd + 1]bool
	for name, params := range elements(asked) {
		weight := quality(params)
		if string(name) == "*" {
			rest = weight
			continue
		}
		c, known := codings(name)
		if !known || c == Plain {
			continue
		}
		named[c] = true
		if weight > most || weight == most && weight > 0 && c > best {
			best, most = c, weight
		}
	}
	if rest > most && !named[Gzip] { // a client that accepts any coding reads gzip
		return Gzip
	}
	return best
}
