package httpd

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// shown returns what a service got, on one line.
func shown(req predict.Request) string {
	out := string(predict.ShowPlaceholders(req.Input))
	for _, f := range req.Form {
		if f.Form == predict.FieldFile {
			f.Value = predict.ShowPlaceholders(f.Value)
		}
		out += fmt.Sprintf(" %s:%d=%s", f.Name, f.Form, f.Value)
	}
	return out
}

func TestBodies_FormsBecomeRequests(t *testing.T) {
	const inJSON = "\r\nContent-Type: application/json"
	for _, c := range []struct {
		name, body, want string
		files            []string // name, type
	}{
		{"text", formText(`name="a"`, "3", `name=b`, " x\r\ny ", `name="a"`, ""), "{} a:0=3 b:0= x\r\ny  a:0=", nil},
		{
			"file", formText("name=\"f\"; filename=\"ü.PNG\"\r\nContent-Type: Image/PNG; q=1", "data"), `{} f:2="ü.PNG"`,
			[]string{"ü.PNG image/png"},
		},
		{
			"two files", formText(`name="f"; filename="a"`, "1", `name="f"; filename="../b"`, "2"), `{} f:2="a" f:2="../b"`,
			[]string{"a ", "../b "},
		},
		{"encoded name", formText(`name="f"; filename*=utf-8''%e2%82%ac.txt`, "1"), `{} f:2="€.txt"`, []string{"€.txt "}},
		{"file without a name", formText("name=\"f\"\r\nContent-Type: image/png", "1"), `{} f:2=""`, []string{" image/png"}},
		{"field left empty", formText("name=\"f\"; filename=\"\"\r\nContent-Type: application/octet-stream", ""), `{}`, nil},
		{"empty file", formText(`name="f"; filename="a"`, ""), `{} f:2="a"`, []string{"a "}},
		{"typed text", formText("name=\"a\"\r\nContent-Type: text/plain; charset=utf-8", "x"), "{} a:0=x", nil},
		{"json field", formText("name=\"a\""+inJSON, `[1]`), "{} a:1=[1]", nil},
		{
			"json file", formText("name=\"a\"; filename=\"a.json\""+inJSON, `[1`), `{} a:2="a.json"`,
			[]string{"a.json application/json"},
		},
		{"the rest", formText(`name="a"`, "1", `name="input"`+inJSON, ` {"b":2} `), `{"b":2} a:0=1`, nil},
		{"the rest from a file", formText(`name="input"; filename="in.json"`+inJSON, `{"b":2}`), `{"b":2}`, nil},
		{"an input named input", formText(`name="input"`, "x"), "{} input:0=x", nil},
		{"keys", formText(`name="id"`, "x1", `name="context"`, `{"k":"v"}`, `name="webhook"`, "http://h/",
			`name="webhook_events_filter"`, "start, logs",
			`name="webhook_events_filter"`, "completed", `name="output_file_prefix"`, "http://p/", `name="created_at"`,
			"2020-01-02T03:04:05Z"), "{}", nil},
		{"keys left empty", formText(`name="id"`, "", `name="webhook"`, " ", `name="context"`, ""), "{}", nil},
		{"no line's end", strings.TrimSuffix(formText(`name="a"`, "1"), "\r\n"), "{} a:0=1", nil},
		{"before and after", "preamble\r\n" + formText(`name="a"`, "1") + "epilogue", "{} a:0=1", nil},
		{"a NUL", formText(`name="a"`, "\"\x000:x\""), "{} a:0=\"\x000:x\"", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			conn := serve(t, f, Options{}).dial(t)
			for range 2 { // the second one on the same connection
				conn.send(bodyRequest(formType, c.body))
				conn.want(200)
				req := f.request()
				assert.Equal(t, "what is shown", shown(req), c.want)
				if c.name == "keys" && (req.ID != "x1" || string(req.Context) != `{"k":"v"}` || req.Webhook != "http://h/" ||
					req.OutputPrefix != "http://p/" ||
					req.WebhookEvents != predict.OnStart|predict.OnLogs|predict.OnCompleted ||
					req.CreatedText != "2020-01-02T03:04:05Z") {
					t.Errorf("got %+v, want every member of the envelope", req)
				}
				var files []string
				if box, ok := req.Attachments.(*fakeAttachments); ok {
					files = box.names
				}
				assert.True(t, strings.Join(files, "|") == strings.Join(c.files, "|"), "files %q, want %q", files, c.files)
				wait(t, f.released, "the release")
				assert.Equal(t, "attachment stores left open", f.open(), 0)
			}
		})
	}
}

func TestBodies_FilesArriveWhole(t *testing.T) {
	content := make([]byte, 5<<20)
	for i := range content {
		content[i] = byte(i * i >> 7)
	}
	pack := append([]byte("\x81\xa5input\x81\xa1f\xc6"), byte(len(content)>>24), byte(len(content)>>16),
		byte(len(content)>>8), byte(len(content)))
	bodies := map[string]string{
		formType: formText(`name="f"; filename="big.bin"`, string(content)),
		packType: string(append(pack, content...)),
	}
	for kind, body := range bodies {
		for _, how := range []string{"", "gzip", "zstd", "chunked"} {
			t.Run(kind+how, func(t *testing.T) {
				f := newFake()
				f.hold = true
				c := serve(t, f, Options{}).dial(t)
				switch how {
				case "chunked":
					var b strings.Builder
					for rest := body; rest != ""; {
						n := min(len(rest), 100_000)
						fmt.Fprintf(&b, "%x\r\n%s\r\n", n, rest[:n])
						rest = rest[n:]
					}
					c.send("POST /predictions HTTP/1.1\r\nHost: x\r\n" + kind + "Transfer-Encoding: chunked\r\n\r\n" + b.String() +
						"0\r\n\r\n")
				case "":
					c.send(bodyRequest(kind, body))
				default:
					c.send(bodyRequest(kind+"Content-Encoding: "+how+"\r\n", squeeze(how, body)))
				}
				p := wait(t, f.started, "the prediction")
				got, err := os.ReadFile(p.Request.Attachments.Path(0))
				assert.True(t, err == nil && bytes.Equal(got, content), "%d bytes arrived, %v, want %q", len(got), err, content)
				f.finish(p)
				c.want(200)
				wait(t, f.released, "the release")
				assert.Equal(t, "the file", f.open(), 0)
			})
		}
	}
}

// TestBodies_NothingIsLeftOfWhatFails checks that each way in which a request with a file can fail removes the file.
func TestBodies_NothingIsLeftOfWhatFails(t *testing.T) {
	file := []string{`name="f"; filename="a"`, strings.Repeat("x", 100_000)}
	for name, c := range map[string]struct {
		request string
		set     func(*fake)
		status  int
	}{
		"a bad part after it": {bodyRequest(formType, formText(append(file, `filename="x"`, "")...)), nil, 400},
		"a bad key after it":  {bodyRequest(formType, formText(append(file, `name="id"`, "a/b")...)), nil, 422},
		"too large": {bodyRequest(formType+"Content-Encoding: gzip\r\n",
			squeeze("gzip", formText(append(file, `name="g"; filename="b"`, strings.Repeat("x", 1<<20))...))), nil, 413},
		"too large in pieces": {"POST /predictions HTTP/1.1\r\nHost: x\r\n" + formType +
			"Transfer-Encoding: chunked\r\n\r\n200000\r\n" + formText(file[0], strings.Repeat("x", 1<<20)), nil, 413},
		"broken msgpack": {bodyRequest(packType, "\x81\xa5input\x92\xc4\x01x\xc1"), nil, 400},
		"an unknown kind": {
			bodyRequest(formType+"Accept: text/event-stream\r\n", formText(file...)),
			func(f *fake) { f.plain = true }, 406,
		},
		"refused":      {bodyRequest(formType, formText(file...)), func(f *fake) { f.refusal = predict.ErrBusy }, 409},
		"refused late": {bodyRequest(formType, formText(file...)), func(f *fake) { f.runErr = predict.ErrQueueTimeout }, 408},
		"a panic":      {bodyRequest(formType, formText(file...)), func(f *fake) { f.panics = "boom" }, 500},
		"another id in the path": {strings.Replace(bodyRequest(formType, formText(append(file, `name="id"`, "b")...)),
			"POST /predictions", "PUT /predictions/a", 1), nil, 422},
		"a bad deadline": {bodyRequest(formType+"Pinion-Deadline: soon\r\n", formText(file...)), nil, 422},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			if c.set != nil {
				c.set(f)
			}
			s := serve(t, f, Options{MaxBody: 1 << 20})
			conn := s.dial(t)
			conn.send(c.request)
			conn.want(c.status)
			s.closed(t) // by then the handler has returned
			assert.True(t, f.open() == 0 && (len(f.attached) != 0 || c.status == 413),
				"%d of %d attachment stores are left, want open 0 and status 413", f.open(), len(f.attached))
		})
	}
	t.Run("a join", func(t *testing.T) {
		f := newFake()
		f.hold = true
		s := serve(t, f, Options{})
		put := strings.Replace(bodyRequest(formType, formText(file...)), "POST /predictions", "PUT /predictions/a", 1)
		first, second := s.dial(t), s.dial(t)
		first.send(put)
		p := wait(t, f.started, "the first")
		second.send(put)
		second.want(202)
		assert.Equal(t, "open attachment stores", f.open(), 1)
		f.finish(p)
		first.want(200)
		s.closed(t)
		assert.Equal(t, "attachment stores", f.open(), 0)
	})
	t.Run("the client leaves", func(t *testing.T) {
		f := newFake()
		s := serve(t, f, Options{})
		conn := s.dial(t)
		whole := bodyRequest(formType, formText(file...))
		conn.send(whole[:len(whole)-50_000])
		conn.Close()
		s.closed(t)
		assert.Equal(t, "file", f.open(), 0)
	})
}

// closed shuts the server down and waits for its last connection.
func (s *site) closed(t *testing.T) {
	t.Helper()
	assert.NoError(t, s.Shutdown(t.Context()))
}

// TestBodies_UnreadBodiesAreNoRequests checks that the unread rest of a body is never read as a request.
func TestBodies_UnreadBodiesAreNoRequests(t *testing.T) {
	smuggled := "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	next := "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, size := range []int{0, 10, 8 << 10, 64 << 10, body.MaxDrained - len(smuggled), body.MaxDrained, 1 << 20} {
		body := strings.Repeat("x", size) + smuggled
		for _, request := range []string{
			fmt.Sprintf("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
				len(body), body),
			bodyRequest("Content-Type: text/plain\r\n", body),
			bodyRequest(formType, "--BB\r\n\r\n"+body),
			bodyRequest(packType, "\xc1"+body),
			bodyRequest("Content-Encoding: gzip\r\n", body),
		} {
			f := newFake()
			f.notReady = &predict.NotReadyError{Reason: "this is the next one"}
			c := serve(t, f, Options{}).dial(t)
			go io.WriteString(c.Conn, request+next) // it may not be read to its end
			resp, _ := c.answer()
			assert.True(t, resp.StatusCode >= 400, "%.60q: %s: got %d, want at least 400", request, resp.Status, resp.StatusCode)
			if resp.Close {
				c.ended()
				continue
			}
			if resp, got := c.answer(); resp.StatusCode != 503 || !strings.Contains(got, "this is the next one") {
				t.Errorf("%.60q and %d: the next answer is %s %s, want that of the next request", request, size, resp.Status, got)
			}
		}
	}
}

func TestBodies_BigFilesAndPacksAreWhole(t *testing.T) {
	content := bytes.Repeat([]byte("pinion"), 1<<19)
	f := newFake()
	f.result.Output = []byte(`"data:image/webp;base64,` + base64.StdEncoding.EncodeToString(content) + `"`)
	s := serve(t, f, Options{})
	for accept, check := range map[string]func(*http.Response, string) bool{
		"image/webp": func(r *http.Response, body string) bool {
			return body == string(content) && r.ContentLength == int64(len(content)) &&
				strings.HasSuffix(r.Header.Get("Content-Disposition"), "output.webp")
		},
		"application/msgpack": func(_ *http.Response, body string) bool {
			return strings.Contains(body, "\xa6output\xc6\x00\x30\x00\x00"+string(content)+"\xa4logs")
		},
	} {
		c := s.dial(t)
		for range 2 {
			c.send(bodyRequest("Accept: "+accept+"\r\n", ""))
			resp, body := c.want(200)
			assert.True(t, check(resp, body), "%s: %v with %d bytes", accept, resp.Header, len(body))
			wait(t, f.released, "the release")
		}
	}
}

// TestBodies_FilesOnDiskAreSent checks that an output file on disk is sent as it is, or as a data URL to a client that
// does not accept its type.
func TestBodies_FilesOnDiskAreSent(t *testing.T) {
	path := t.TempDir() + "/x"
	whole := strings.Repeat("RIFF", 1<<18)
	assert.NoError(t, os.WriteFile(path, []byte(whole), 0o600))
	inText := "data:audio/wav;base64," + base64.StdEncoding.EncodeToString([]byte(whole))
	for accept, want := range map[string]struct {
		status            int
		kind, name, holds string
	}{
		"audio/*":                            {200, "audio/wav", "attachment; filename*=utf-8''t%C3%B6ne.wav", whole},
		"image/*":                            {406, "application/json", "", `"output":["` + inText + `"]`},
		"image/*, application/msgpack;q=0.5": {200, "application/msgpack", "", whole},
		"application/octet-stream;q=0.5, */*;q=0.1": {200, "audio/wav", "attachment; filename*=utf-8''t%C3%B6ne.wav", whole},
	} {
		f := newFake()
		f.runs = func(p *predict.Prediction) {
			assert.True(t, p.Request.WantFile, "got WantFile = false, want true")
			file, err := os.Open(path)
			assert.Equal(t, "error", err, nil)
			p.OnRelease(func() { file.Close() })
			p.SetFile(&predict.OutputFile{
				Content: file, Name: "töne.wav", Type: "audio/wav", Size: int64(len(whole)), Listed: true,
			})
		}
		c := serve(t, f, Options{}).dial(t)
		for range 2 {
			c.send(bodyRequest("Accept: "+accept+"\r\n", ""))
			resp, body := c.want(want.status)
			h := resp.Header
			assert.Equal(t, accept+`: h.Get("Content-Type")`, h.Get("Content-Type"), want.kind)
			assert.Equal(t, accept+`: h.Get("Content-Disposition")`, h.Get("Content-Disposition"), want.name)
			assert.Contains(t, accept+": body", body, want.holds)
			wait(t, f.released, "the release")
		}
	}
}

func TestBodies_Rendered(t *testing.T) {
	const ofBrowser = "text/html,application/xhtml+xml,image/avif,image/webp,*/*;q=0.8"
	for accept, want := range map[string]negotiate.Rendering{
		"":                                  negotiate.AsJSON,
		"*/*":                               negotiate.AsJSON,
		"text/html":                         negotiate.AsJSON,
		"application/json":                  negotiate.AsJSON,
		"application/*":                     negotiate.AsJSON,
		"nonsense":                          negotiate.AsJSON,
		"image/png":                         negotiate.AsFile,
		"IMAGE/*":                           negotiate.AsFile,
		"audio/wav, video/*":                negotiate.AsFile,
		"application/octet-stream":          negotiate.AsFile,
		"image/png;q=0":                     negotiate.AsJSON,
		"application/msgpack":               negotiate.AsPack,
		"application/x-msgpack;v=1":         negotiate.AsPack,
		"application/vnd.msgpack":           negotiate.AsPack,
		"application/json, image/png":       negotiate.AsJSON,
		"image/png, application/json":       negotiate.AsFile,
		"image/png;q=0.9, application/json": negotiate.AsJSON,
		"*/*, image/png":                    negotiate.AsFile,
		"image/png;q=0.9, */*":              negotiate.AsJSON,
		"image/png, */*;q=0.8":              negotiate.AsFile,
		"application/msgpack, */*":          negotiate.AsPack,
		ofBrowser:                           negotiate.AsFile,
		"application/problem+json":          negotiate.AsJSON,
		"image/png;q=0.123, application/msgpack;q=0.124": negotiate.AsPack,
		"text/*;x=\"image/png\"":                         negotiate.AsJSON,
	} {
		s := New(always{newFake()}, Options{})
		ctx := loopback(t, s, "")
		ctx.Request.Header.Set("Accept", accept)
		assert.Equal(t, accept, negotiate.Rendered(&ctx.Request.Header, true), want)
	}
}
