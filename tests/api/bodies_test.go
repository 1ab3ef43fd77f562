package api

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// part is a part of a form; a file where it has a file name.
type part struct{ name, file, content string }

// formOf is a form of those parts, and its content type.
func formOf(t *testing.T, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		var to io.Writer
		var err error
		if p.file == "" {
			to, err = w.CreateFormField(p.name)
		} else {
			to, err = w.CreateFormFile(p.name, p.file)
		}
		if err == nil {
			_, err = io.WriteString(to, p.content)
		}
		assert.NoError(t, err)
	}
	assert.NoError(t, w.Close())
	return out.Bytes(), w.FormDataContentType()
}

// logged is what follows word on a line of a prediction's logs.
func logged(a harness.Answer, word string) string {
	for line := range strings.Lines(a.Logs) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func removed(t *testing.T, folder string) {
	t.Helper()
	assert.TrueNow(t, folder != "", "got no folder of the model, want one")
	assert.Eventually(t, "the folder of the prediction is removed", func() bool {
		_, err := os.Stat(folder)
		return os.IsNotExist(err)
	})
}

func TestBodies_FormsReachModel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "bodies.py:Runner"})
	big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB: more than stays in memory on the way
	for _, c := range []struct {
		parts                []part
		output, names, given string
	}{
		{[]part{{"file", "ü b.txt", "\x00abc"}}, "\x00abc", "ü b.txt", "1 False [] None None"},
		{[]part{
			{"file", "../../x", "a"},
			{"more", "y.bin", "b"},
			{"times", "", "2"},
			{"upper", "", "on"},
			{"note", "", "null"},
		}, "ABAB", "x y.bin", "2 True [] null None"},
		{
			[]part{{"more", "2", "b"}, {"file", "1", "a"}, {"more", "3", "c"}, {"tags", "", "t"}, {"weights", "", "[1, 2.5]"}},
			"abc", "1 2 3", "1 False ['t'] None [1.0, 2.5]",
		},
		{
			[]part{{"file", "a", "a"}, {"tags", "", "3"}, {"tags", "", "[4]"}, {"weights", "", "1e2"}},
			"a", "a",
			"1 False ['3', '[4]'] None [100.0]",
		},
		{
			[]part{{"file", "", "data:text/plain;name=url.txt,hi"}, {"times", "", "1"}},
			"hi", "url.txt",
			"1 False [] None None",
		},
		{
			[]part{{"file", "big.bin", big}, {"more", "", "data:text/plain;name=u.txt,!"}},
			big + "!", "big.bin u.txt",
			"1 False [] None None",
		},
	} {
		body, kind := formOf(t, c.parts...)
		a := s.Create(body, "Content-Type", kind)
		assert.TrueNow(t, a.Code == http.StatusOK && a.Status == "succeeded",
			"%.200v: %s, want Code 200 and Status succeeded", c.parts, a)
		encoded := strings.TrimPrefix(a.Text(t), "data:image/png;base64,")
		if output, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(output) != c.output {
			t.Errorf("%.200v: got %.60q, %v, want %q", c.parts, output, err, c.output)
		}
		if names, given := logged(a, "names"), logged(a, "given"); names != c.names || given != c.given {
			t.Errorf("%.200v: the model had %q and %q, want %q and %q", c.parts, names, given, c.names, c.given)
		}
		removed(t, logged(a, "folder"))
	}
}

func TestBodies_FormsAreChecked(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "bodies.py:Runner"})
	file := part{"file", "a.png", "a"}
	for want, parts := range map[string][]part{
		`file|Field required`:                                        {{"times", "", "2"}},
		`times|"two" is not of type "integer"`:                       {file, {"times", "", "two"}},
		`times|0 is less than the minimum of 1`:                      {file, {"times", "", "0"}},
		`times|file "t.txt" is not of type "integer"`:                {file, {"times", "t.txt", "2"}},
		`note|file "n.txt" is given for an input that takes no file`: {file, {"note", "n.txt", "x"}},
		`file|"a" is not an http, https or data URL`:                 {{"file", "", "a"}},
		`file|["data:,a","data:,b"] is not of type "string"`:         {{"file", "", "data:,a"}, {"file", "", "data:,b"}},
	} {
		body, kind := formOf(t, parts...)
		got := problems(t, s.Create(body, "Content-Type", kind))
		assert.EqualNow(t, "length", len(got), 1)
		assert.Equal(t, `got[0].Loc[2]+"|"+got[0].Msg`, got[0].Loc[2]+"|"+got[0].Msg, want)
	}
	// What stands for a file inside of the server means nothing in JSON.
	for _, forged := range []string{"\x000:x", "\\u00000:x", "/etc/passwd"} {
		a := s.Create(`{"input":{"file":"` + forged + `"}}`)
		assert.True(t, a.Code == http.StatusBadRequest || a.Code == http.StatusUnprocessableEntity,
			"%q: %s, want Code 400 or 422", forged, a)
	}
	left(t, s)
}

// left fails where a folder of files is left that belongs to no prediction.
func left(t *testing.T, s *harness.Server) {
	t.Helper()
	assert.Eventually(t, "no file is left", func() bool { return len(unclean(s)) == 0 })
}

func TestBodies_FilesComeAsThemselves(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "bodies.py:Runner"})
	content := strings.Repeat("\x89PNG\r\n", 200_000)
	body, kind := formOf(t, part{"file", "in.png", content})
	a := s.Create(body, "Content-Type", kind, "Accept", "image/*")
	h := a.Header
	assert.True(t, a.Code == http.StatusOK && string(a.Body) == content && h.Get("Content-Type") == "image/png" &&
		h.Get("Content-Disposition") == "attachment; filename=result.png",
		"got %d %v with %d bytes, want the file that was sent", a.Code, h, len(a.Body))
	assert.True(t, len(h.Get("Pinion-Prediction-Id")) == 26 &&
		strings.HasPrefix(h.Get("Pinion-Metrics"), `{"predict_time":`),
		"headers %v, want len(Pinion-Prediction-Id) 26 bytes and Pinion-Metrics starting with %q", h, `{"predict_time":`)
	// To who takes another type alone it comes as text.
	a = s.Create(body, "Content-Type", kind, "Accept", "audio/*")
	assert.True(t, a.Code == http.StatusNotAcceptable && strings.HasPrefix(a.Text(t), "data:image/png;base64,"),
		`as audio: %.300s: got Code %d, want Code 406 and Text starting with "data:image/png;base64,"`, a.String(), a.Code)
	// As a kept prediction.
	body, kind = formOf(t, part{"file", "in.png", "abc"}, part{"id", "", "kept"})
	a = s.Create(body, "Content-Type", kind, "Accept", "application/octet-stream")
	assert.True(t, string(a.Body) == "abc", "of one with an id: %s, want abc", a)
	a = s.Do("GET", "/predictions/kept", nil, "Accept", "image/png")
	assert.True(t, string(a.Body) == "abc", "afterwards: %s, want abc", a)
	a = s.Do("GET", "/predictions/kept", nil)
	assert.True(t, a.Status == "succeeded" && bytes.Contains(a.Body, []byte(`"input":{"file":"in.png"}`)),
		"its state: %s, want Status succeeded and Body with %q", a, `"input":{"file":"in.png"}`)
	body, kind = formOf(t, part{"file", "in.png", "abc"}, part{"note", "", "raise"})
	a = s.Create(body, "Content-Type", kind, "Accept", "image/*")
	assert.True(t, a.Code == http.StatusBadGateway && a.Error == "ValueError: as asked",
		`of a failure: %s, want Code 502 and Error "ValueError: as asked"`, a)
	left(t, s)
}

func TestBodies_MessagePackBothWays(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "bodies.py:listed"})
	const packed = "application/msgpack"
	pack := "\x82\xa2id\xa3abc\xa5input\x82\xa5value\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa4file\xc4\x03xyz"
	a := s.Create(pack, "Content-Type", packed, "Accept", packed)
	var whole [256]byte
	for i := range whole {
		whole[i] = byte(i)
	}
	want := "\xa6output\x83\xa5value\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa5files\x91\xc5\x01\x00" + string(whole[:]) +
		"\xa4read\xa3xyz"
	assert.Equal(t, "code", a.Code, http.StatusOK)
	assert.Equal(t, `a.Header.Get("Content-Type")`, a.Header.Get("Content-Type"), packed)
	assert.Contains(t, "string(a.Body)", string(a.Body), want)
	var squeezed bytes.Buffer
	z := gzip.NewWriter(&squeezed)
	fmt.Fprint(z, pack)
	z.Close()
	a = s.Create(squeezed.Bytes(), "Content-Type", packed, "Content-Encoding", "gzip")
	assert.True(t, a.Status == "succeeded" && bytes.Contains(a.Output, []byte(`"read":"xyz"`)),
		"compressed: %s, want Status succeeded and Output with %q", a, `"read":"xyz"`)
	harness.WantCode(t, "a timestamp",
		s.Create("\x81\xa5input\x81\xa5value\xd6\xff\x00\x00\x00\x00", "Content-Type", packed), http.StatusBadRequest)
	left(t, s)
}

// TestBodies_CurlSendsAndGetsFiles holds what the documents say of curl.
func TestBodies_CurlSendsAndGetsFiles(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "bodies.py:Runner"})
	dir := t.TempDir()
	content := bytes.Repeat([]byte("\x89PNG image "), 300_000) // above 1 MiB curl asks before it sends
	harness.WriteFile(t, filepath.Join(dir, "in.png"), content)
	curl := exec.Command("curl", "-sS", "--fail-with-body", "-F", "file=@in.png", "-F", "times=2", "-H",
		"Accept: image/png",
		"--compressed", "-o", "out.png", s.Address+"/predictions")
	curl.Dir = dir
	if out, err := curl.CombinedOutput(); err != nil {
		t.Fatalf("got %v, want no error: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out.png"))
	if err != nil || !bytes.Equal(got, append(bytes.Clone(content), content...)) {
		t.Errorf("%d bytes came back for %d, %v, want %q", len(got), len(content), err,
			append(bytes.Clone(content), content...))
	}
	left(t, s)
}

// TestBodies_ImageExample runs what its README says.
func TestBodies_ImageExample(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	harness.NeedModule(t, python, "PIL")
	s := harness.Ready(t, harness.Options{Python: python.Path, Dir: harness.Example(t, "image")})
	sample := harness.Absolute(t, "../examples/ocr/sample.png")
	curl := exec.Command("curl", "-sS", "--fail-with-body", "-F", "image=@"+sample, "-F", "size=200", "-F", "gray=true",
		"-H", "Accept: image/*", s.Address+"/predictions", "-OJ")
	curl.Dir = t.TempDir()
	if out, err := curl.CombinedOutput(); err != nil {
		t.Fatalf("got %v, want no error: %s", err, out)
	}
	file := assert.Must(os.Open(filepath.Join(curl.Dir, "sample-200.png")))(t)
	defer file.Close()
	picture, err := png.DecodeConfig(file)
	assert.True(t, err == nil && max(picture.Width, picture.Height) == 200 && picture.ColorModel == color.GrayModel,
		"got %+v, %v, want max 200 and ColorModel %v", picture, err, color.GrayModel)
	body, kind := formOf(t, part{"image", "x.png", "no picture"})
	a := s.Create(body, "Content-Type", kind, "Accept", "image/*")
	assert.True(t, a.Code == http.StatusBadGateway && strings.Contains(a.Error, "UnidentifiedImageError"),
		`of no picture: %s, want Code 502 and Error with "UnidentifiedImageError"`, a)
	left(t, s)
}
