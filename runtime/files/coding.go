package files

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// maxCodings bounds the codings of a file, because each costs a buffer.
const maxCodings = 4

// decoded decodes a body by its Content-Encoding headers: objects on S3 may be stored in gzip, and Cog decodes them. It
// stops at an unknown coding.
func decoded(body io.Reader, headers []string) (io.Reader, error) {
	codings := strings.FieldsFunc(strings.ToLower(strings.Join(headers, ",")), func(r rune) bool {
		return r == ',' || r == ' ' || r == '\t'
	})
	if len(codings) > maxCodings {
		return nil, ErrCoding
	}
	for _, coding := range slices.Backward(codings) { // the last one was applied last
		if coding == "identity" {
			continue
		}
		if !known(coding) {
			return body, nil
		}
		from := bufio.NewReader(body)
		if _, err := from.Peek(1); errors.Is(err, io.EOF) {
			return from, nil // an empty file has no header either
		}
		inside, err := open(coding, from)
		if err != nil {
			return nil, codingError(err)
		}
		body = &decodingReader{inside}
	}
	return body, nil
}

func known(coding string) bool { return coding == "gzip" || coding == "x-gzip" || coding == "deflate" }

func open(coding string, from *bufio.Reader) (io.Reader, error) {
	if coding == "deflate" {
		return openDeflate(from)
	}
	return gzip.NewReader(from)
}

// openDeflate reads zlib's format, which "deflate" stands for, and bare DEFLATE, which some servers send.
func openDeflate(from *bufio.Reader) (io.Reader, error) {
	const method, window = 8, 7
	head, err := from.Peek(2)
	if err == nil && head[0]&15 == method && head[0]>>4 <= window && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(from)
	}
	return flate.NewReader(from), nil
}

// decodingReader converts a decoder's errors to ErrCoding or ErrTruncated.
type decodingReader struct{ from io.Reader }

func (r *decodingReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	return n, codingError(err)
}

func codingError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt),
		errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary):
		return ErrCoding
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	}
	return err
}
