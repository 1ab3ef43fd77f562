package httpd

import (
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/httpd/answers"
	"pinion/runtime/health"
	"pinion/tests/assert"
)

// TestErrors_BothEncodersWriteSame: the choice between the two must only be one of speed.
func TestErrors_BothEncodersWriteSame(t *testing.T) {
	var out answers.Writer
	for _, v := range []any{
		health.Document{},
		health.Document{
			Status:  "READY",
			Setup:   &health.Setup{Logs: "<b>&amp;\x00\x1f\t\"\\ \xff\xc3 é 😀\n"},
			Version: map[string]string{"z": "1", "a": "<2>"},
			Workers: []health.Worker{{CUDA: map[string]any{"z": 1.5, "a": nil, "n": 1e21, "s": []any{true, "&"}}}},
			Queue:   &health.Queue{}, Preload: &health.Preload{},
		},
		discoveryBody{DocsURL: "/docs?a&b"},
	} {
		var often, seldom fasthttp.RequestCtx
		out.Encode(&often, fasthttp.StatusOK, v)
		out.EncodeSeldom(&seldom, v)
		assert.Equal(t, "answer", often.Response.String(), seldom.Response.String())
	}
}
