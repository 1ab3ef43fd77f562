package httpd

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"pinion/runtime/predict"
)

// bodyRequest returns a raw POST of a prediction.
func bodyRequest(headers, body string) string {
	return fmt.Sprintf("POST /predictions HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(body), body)
}

const (
	formType = "Content-Type: multipart/form-data; boundary=BB\r\n"
	packType = "Content-Type: application/msgpack\r\n"
)

// formText returns a form of these parts, each a header and a content.
func formText(parts ...string) string {
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		b.WriteString("--BB\r\nContent-Disposition: form-data; " + parts[i] + "\r\n\r\n" + parts[i+1] + "\r\n")
	}
	return b.String() + "--BB--\r\n"
}

// pixel is a file that a model may return.
var pixel = "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))

func goldenBodies() []goldenCase {
	gives := func(output string) func(*fake) { return func(f *fake) { f.result.Output = []byte(output) } }
	png, failed := gives(`"`+pixel+`"`), func(f *fake) {
		f.result = predict.Result{Status: predict.Failed, Error: "ValueError: x", Metrics: []byte(`{"predict_time":0.1}`)}
	}
	accept := func(types string) string { return bodyRequest("Accept: "+types+"\r\n", "") }
	return []goldenCase{
		{name: "form", request: bodyRequest(formType,
			formText(`name="image"; filename="a.png"`, "x", `name="id"`, "from-a-form"))},
		{name: "form_empty", request: bodyRequest(formType, "--BB--\r\n")},
		{name: "form_no_boundary", request: bodyRequest("Content-Type: multipart/form-data\r\n", "x")},
		{name: "form_no_name", request: bodyRequest(formType, formText(`filename="a"`, "x"))},
		{name: "form_truncated", request: bodyRequest(formType, formText(`name="a"`, "x")[:40])},
		{
			name:    "form_truncated_file",
			request: bodyRequest(formType, strings.TrimSuffix(formText(`name="a"; filename="b"`, "x"), "\r\n--BB--\r\n")),
		},
		{name: "form_no_form", request: bodyRequest(formType, `{"input":{}}`)},
		{name: "form_not_utf8", request: bodyRequest(formType, formText(`name="a"`, "\xff"))},
		{name: "form_invalid_json", request: bodyRequest(formType,
			formText("name=\"input\"\r\nContent-Type: application/json", `{"a":}`))},
		{name: "form_invalid_context", request: bodyRequest(formType, formText(`name="context"`, `a`))},
		{name: "form_wrong_keys", request: bodyRequest(formType,
			formText(`name="id"`, "a/b", `name="context"`, "[]", `name="webhook"`, "ftp://x",
				`name="webhook_events_filter"`, "start,end", "name=\"input\"\r\nContent-Type: application/json", "[]"))},
		{
			name: "form_file_refused", request: bodyRequest(formType, formText(`name="a"; filename="b"`, "x")),
			set: func(f *fake) {
				f.attachError = &predict.FileLimitError{Reason: "The request has more than 0 files, the limit of --max-downloads"}
			},
		},

		{name: "pack", request: bodyRequest(packType+"Accept: application/msgpack\r\n",
			"\x82\xa2id\xa1p\xa5input\x81\xa1s\xa1x")},
		{name: "pack_in", request: bodyRequest(packType, "\x80")},
		{name: "pack_out", request: bodyRequest("Accept: application/msgpack\r\n", ""), set: png},
		{name: "pack_long_integer", request: bodyRequest("Accept: application/msgpack\r\n", ""), set: func(f *fake) {
			f.result = predict.Result{Status: predict.Succeeded, Output: []byte(`{"n":[1180591620717411303424]}`)}
		}},
		{name: "pack_empty", request: bodyRequest(packType, "")},
		{name: "pack_invalid", request: bodyRequest(packType+"Accept: application/msgpack\r\n", "\xc1")},
		{name: "pack_extension", request: bodyRequest(packType, "\x81\xaacreated_at\xd6\xff\x00\x00\x00\x00")},
		{name: "pack_no_object", request: bodyRequest(packType, "\x91\x01")},
		{name: "pack_bin_as_id", request: bodyRequest(packType, "\x81\xa2id\xc4\x01a")},
		{name: "pack_health", request: "GET /livez HTTP/1.1\r\nHost: x\r\nAccept: application/x-msgpack\r\n\r\n"},

		{name: "file", request: accept("image/*"), set: png},
		{name: "file_octets", request: accept("application/octet-stream"), set: png},
		{name: "file_listed", request: accept("image/png"), set: gives(`["` + pixel + `"]`)},
		{name: "file_metrics", request: accept("image/png"), set: func(f *fake) {
			png(f)
			f.result.Metrics = []byte("{\"predict_time\":0.25,\n\"ü\":\"🙂\"}")
		}},
		{name: "file_id", request: strings.Replace(accept("image/png"), "POST /predictions", "PUT /predictions/a%20%C3%BC",
			1), set: png},
		{name: "file_failed", request: accept("image/*"), set: failed},
		{name: "file_failed_pack", request: accept("image/*, application/msgpack;q=0.1"), set: failed},
		{
			name: "file_canceled", request: accept("image/*"),
			set: func(f *fake) { f.result = predict.Result{Status: predict.Canceled} },
		},
		{name: "file_busy", request: accept("image/*"), set: func(f *fake) { f.refusal = predict.ErrBusy }},
		{name: "file_none", request: accept("image/*"), set: gives(`"https://example.com/a.png"`)},
		{name: "file_two", request: accept("image/*"), set: gives(`["` + pixel + `","` + pixel + `"]`)},
		{name: "file_null", request: accept("image/*"), set: func(f *fake) { f.result.Output = nil }},
		{name: "file_other_type", request: accept("audio/*"), set: png},
		{name: "file_or_json", request: accept("audio/*, application/json;q=0.5"), set: png},
		{name: "file_json_first", request: accept("image/png;q=0.5, application/json"), set: png},
		{name: "file_anything", request: accept("*/*"), set: png},
		{name: "file_not_base64", request: accept("image/*"), set: gives(`"data:image/png;base64,AA=A"`)},

		{name: "gzip_body", request: bodyRequest("Content-Encoding: gzip\r\n", squeeze("gzip", `{"id":"gz"}`))},
		{name: "zstd_body", request: bodyRequest("Content-Encoding: zstd\r\n", squeeze("zstd", `{"id":"zs"}`))},
		{name: "gzip_pack", request: bodyRequest(packType+"Content-Encoding: x-gzip\r\n",
			squeeze("gzip", "\x81\xa2id\xa1p"))},
		{name: "gzip_wrong", request: bodyRequest("Content-Encoding: gzip\r\n", `{"id":"gz"}`)},
		{name: "gzip_cut", request: bodyRequest("Content-Encoding: gzip\r\n", squeeze("gzip", `{"id":"gz"}`)[:20])},
		{name: "zstd_wrong", request: bodyRequest("Content-Encoding: zstd\r\n", `{"id":"gz"}`)},
		{
			name: "gzip_bomb", opt: Options{MaxBody: 1 << 20},
			request: bodyRequest("Content-Encoding: gzip\r\n", squeeze("gzip", strings.Repeat(" ", 1<<20+1))),
		},
		{
			name: "zstd_bomb", opt: Options{MaxBody: 1 << 20},
			request: bodyRequest("Content-Encoding: zstd\r\n", squeeze("zstd", strings.Repeat(" ", 1<<20+1))),
		},
		{name: "coded_twice", request: bodyRequest("Content-Encoding: gzip, gzip\r\n", "")},
	}
}

// squeeze returns text as a client compresses it.
func squeeze(how, text string) string {
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if how == "zstd" {
		w, _ = zstd.NewWriter(&out) // its options are valid
	}
	if _, err := io.WriteString(w, text); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.String()
}
