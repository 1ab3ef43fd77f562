package protocol

import (
	"bytes"
	"encoding/base64"
	"io"
	"iter"

	"pinion/httpd/negotiate"
	"pinion/runtime/rawjson"
)

// DataFile is a file in an output: a data URL in base64.
type DataFile struct {
	Raw    []byte // the JSON string, part of the output
	Type   string // its media type
	Base64 []byte
}

// Size returns how many bytes the file has.
func (f DataFile) Size() int {
	return len(f.Base64)/4*3 - bytes.Count(f.Base64[max(0, len(f.Base64)-2):], []byte{'='})
}

// Valid reports whether the file can be sent. Its base64 was not checked before.
func (f DataFile) Valid() bool {
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(f.Base64)))
	return err == nil && negotiate.Printable([]byte(f.Type))
}

// maxFileNesting bounds how deep in an output files are looked for.
const maxFileNesting = 32

// DataFiles yields the files of an output, with their numbers from 0, in the order in which they stand there.
func DataFiles(output []byte) iter.Seq2[int, DataFile] {
	return func(yield func(int, DataFile) bool) {
		n := 0
		walkFiles(output, 0, func(f DataFile) bool {
			n++
			return yield(n-1, f)
		})
	}
}

// walkFiles calls yield for each file of a value, until it returns false.
func walkFiles(value []byte, depth int, yield func(DataFile) bool) bool {
	switch rawjson.KindOf(value) {
	case rawjson.KindString:
		if f, ok := ReadDataFile(value); ok {
			return yield(f)
		}
	case rawjson.KindArray:
		if depth < maxFileNesting {
			for _, item := range rawjson.Items(value) {
				if !walkFiles(item, depth+1, yield) {
					return false
				}
			}
		}
	case rawjson.KindObject:
		if depth < maxFileNesting {
			for _, item := range rawjson.Members(value) {
				if !walkFiles(item, depth+1, yield) {
					return false
				}
			}
		}
	}
	return true
}

// ReadDataFile reads a JSON string that is a data URL in base64.
func ReadDataFile(value []byte) (f DataFile, ok bool) {
	rest, ok := bytes.CutPrefix(value, []byte(`"data:`))
	head, encoded, found := bytes.Cut(rest, []byte{','})
	media, is := bytes.CutSuffix(head, []byte(";base64"))
	if !ok || !found || !is || len(media) > 255 || bytes.IndexByte(value, '\\') >= 0 {
		return f, false
	}
	if f = (DataFile{value, string(media), encoded[:len(encoded)-1]}); len(media) == 0 {
		f.Type = "application/octet-stream"
	}
	return f, len(f.Base64)%4 == 0
}
