package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestRawBody_IsTheModelsOneFile: an image as it is, with the other inputs in the query.
func TestRawBody_IsTheModelsOneFile(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", `
from typing import Optional
from cog import Path
def one(image: Path, copies: int = 1, mask: Optional[Path] = None) -> str:
    return f"{image.suffix} {len(image.read_bytes())} {copies} {mask is None}"
def two(first: Path, second: Path) -> str:
    return first.read_text() + second.read_text()
def none(text: str = "") -> str:
    return text
`)
	large := strings.Repeat("\r\n--x\r\n", 1<<17) // what looks like the parts of a form is content
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:one"})
	post := func(s *harness.Server, query, body string, headers ...string) harness.Answer {
		return s.Do(http.MethodPost, "/predictions"+query, []byte(body), headers...)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(large))
	_ = w.Close()
	for want, a := range map[string]harness.Answer{
		".png 917504 1 True": post(s, "", large, "Content-Type", "image/png"),
		".png 917504 2 True": post(s, "?copies=2", packed.String(), "Content-Type", "image/png", "Content-Encoding", "gzip"),
		".bin 3 1 True":      post(s, "", "abc", "Content-Type", "application/octet-stream"),
		".jpg 3 7 False":     post(s, "?copies=7&mask=data:,x", "abc", "Content-Type", "image/jpeg"),
		".wav 3 1 True":      post(s, "?copies=1", "abc", "Content-Type", "Audio/WAV; rate=8000", "Accept", "application/json"),
	} {
		assert.True(t, a.Code == http.StatusOK && strings.Contains(string(a.Body), want), "got %s, want %s", a, want)
	}
	for says, a := range map[string]harness.Answer{
		"Field required":           post(s, "", "", "Content-Type", "image/png"),
		"copies":                   post(s, "?copies=many", "abc", "Content-Type", "image/png"),
		"Unsupported content type": post(s, "", "abc", "Content-Type", "text/plain"),
		"content encoding":         post(s, "", "abc", "Content-Type", "image/png", "Content-Encoding", "br"),
	} {
		assert.True(t, a.Code >= 400 && a.Code < 500, "%s: got %s", says, a)
		assert.Contains(t, says, string(a.Body), says)
	}
	s = harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:two"})
	harness.WantAnswer(t, "two files", post(s, "", "a", "Content-Type", "image/png"), http.StatusUnsupportedMediaType,
		"several inputs for it, first, second: send multipart/form-data")
	a := post(s, "?second=data:,b", "a", "Content-Type", "image/png")
	assert.Equal(t, "the other one in the query", string(a.Output), `"ab"`)
	s = harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:none"})
	harness.WantAnswer(t, "no file", post(s, "", "a", "Content-Type", "image/png"), http.StatusUnsupportedMediaType, "Unsupported content type")
}
