package openai

import (
	"bytes"
	"strconv"

	"pinion/runtime/rawjson"
)

// answerImages appends the answer of an images request. An image is a data URL, or the URL to which it was uploaded.
func (r *Request) answerImages(h Head, results []Result) ([]byte, *Error) {
	dst := strconv.AppendInt([]byte(`{"created":`), h.Created, 10)
	dst = append(dst, `,"data":[`...)
	n := 0
	add := func(url []byte) *Error {
		if rawjson.KindOf(url) != text {
			return BadOutput("The model returned " + typeOf(url) + "; an images function returns a cog.Path, or a list of them.")
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		if media, _, isData := bytes.Cut(bytes.TrimPrefix(inside(url), []byte("data:")), []byte(";")); isData {
			if err := r.wanted.check(string(media)); err != nil {
				return err
			}
		}
		dst = r.appendImage(dst, url)
		return nil
	}
	for i := range results {
		output := results[i].Output
		if rawjson.KindOf(output) != array {
			if err := add(output); err != nil {
				return nil, err
			}
			continue
		}
		for _, item := range rawjson.Items(output) {
			if err := add(item); err != nil {
				return nil, err
			}
		}
	}
	return append(dst, "]}"...), nil
}

// appendImage appends one image. A file that was uploaded has only a URL.
func (r *Request) appendImage(dst, url []byte) []byte {
	head, content, isData := bytes.Cut(inside(url), []byte(";base64,"))
	if isData && bytes.HasPrefix(head, []byte("data:")) && r.format == "b64_json" {
		return append(append(append(dst, `{"b64_json":"`...), content...), `"}`...)
	}
	return append(append(append(dst, `{"url":`...), url...), '}')
}
