package openai

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"pinion/runtime/rawjson"
)

func (r *Request) answerEmbeddings(h Head, results []Result) ([]byte, *Error) {
	dst := []byte(`{"object":"list","data":[`)
	n := 0
	add := func(vector []byte) *Error {
		dst = rawjson.Comma(dst, n > 0)
		dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(n), 10)
		dst = append(dst, `,"embedding":`...)
		n++
		var err *Error
		dst, err = r.appendVector(dst, vector)
		dst = append(dst, '}')
		return err
	}
	for i := range results {
		if err := eachVector(results[i].Output, add); err != nil {
			return nil, err
		}
	}
	if n != r.items {
		return nil, BadOutput("The model returned " + strconv.Itoa(n) + " embeddings for " + strconv.Itoa(r.items) +
			" inputs.")
	}
	dst = rawjson.AppendQuoted(append(dst, `],"model":`...), h.Model)
	dst = r.Usage(results).append(append(dst, `,"usage":`...), Embeddings)
	return append(dst, '}'), nil
}

// eachVector calls add with each vector in an output, which is a vector or a list of them.
func eachVector(output []byte, add func([]byte) *Error) *Error {
	if rawjson.KindOf(output) != array {
		return BadOutput("The model returned " + typeOf(output) +
			"; an embeddings function returns a list of numbers, or a list of such lists.")
	}
	items := rawjson.Array(output)
	first, ok := items.Next()
	if !ok || rawjson.KindOf(first) == number {
		return add(output)
	}
	for item := first; ok; item, ok = items.Next() {
		if rawjson.KindOf(item) != array {
			return BadOutput("The model returned " + typeOf(item) + " among its embeddings; each is a list of numbers.")
		}
		if err := add(item); err != nil {
			return err
		}
	}
	return nil
}

// appendVector appends a vector in the format that the client wants.
func (r *Request) appendVector(dst, vector []byte) ([]byte, *Error) {
	if !rawjson.Numbers(vector) {
		return dst, BadOutput("The model returned an embedding that is not a list of numbers.")
	}
	if r.format != "base64" {
		return append(dst, vector...), nil
	}
	packed := make([]byte, 0, 4*rawjson.CountNumbers(vector))
	for _, item := range rawjson.Items(vector) {
		f, _ := strconv.ParseFloat(string(item), 32)
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(float32(f)))
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), packed)
	return append(dst, '"'), nil
}
