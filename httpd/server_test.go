package httpd

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pinion/httpd/answers"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func TestServer_RequestOutlivesItsConnection(t *testing.T) {
	for _, size := range []int{10, answers.MaxReused - 100, answers.MaxReused + 100, 1 << 20} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			f := newFake()
			c := serve(t, f, Options{}).dial(t)
			input := `{"s":"` + strings.Repeat("a", size) + `"}`
			c.post(`{"id":"first","input":` + input + `,"context":{"k":"v"}}`)
			c.want(200)
			first := f.request()
			for range 3 { // the next requests are read into the same buffers
				c.post(`{"id":"other","input":{"s":"` + strings.Repeat("b", size) + `"}}`)
				c.want(200)
			}
			assert.Equal(t, "id of the first request", first.ID, "first")
			assert.Equal(t, "input of the first request", string(first.Input), input)
			assert.Equal(t, "context of the first request", string(first.Context), `{"k":"v"}`)
		})
	}
}

func TestServer_EachPredictionIsReleasedOnce(t *testing.T) {
	for name, set := range map[string]func(f *fake){
		"small":   func(f *fake) {},
		"big":     func(f *fake) { f.result.Output = bigString(1 << 20) },
		"refused": func(f *fake) { f.runErr = predict.ErrQueueTimeout },
		"panic":   func(f *fake) { f.runs = func(*predict.Prediction) { panic("in the run") } },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			set(f)
			c := serve(t, f, Options{}).dial(t)
			c.post(`{"id":"a"}`)
			c.answer()
			assert.Equal(t, "released", wait(t, f.released, "the release"), "a")
			assert.Equal(t, "releases", len(f.released), 0)
		})
	}
}

// bigString returns a JSON string of n bytes.
func bigString(n int) []byte {
	b := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
	b[0], b[n-1] = '"', '"'
	return b
}

func TestServer_BigAnswersAreWhole(t *testing.T) {
	f := newFake()
	f.result.Output = bigString(3<<20 + 17)
	f.result.Logs = bytes.Repeat([]byte("a\xff\n"), 100<<10)
	c := serve(t, f, Options{}).dial(t)
	for range 2 { // on one connection: each ends where its length says
		c.post(`{"id":"big"}`)
		resp, body := c.want(200)
		var got struct{ ID, Output, Logs, Completed_at string }
		assert.NoError(t, json.Unmarshal([]byte(body), &got))
		assert.Equal(t, "the output", `"`+got.Output+`"`, string(f.result.Output))
		assert.True(t, got.Logs == strings.Repeat("a\uFFFD\n", 100<<10) && got.Completed_at != "",
			"got %d bytes of logs, completed at %q, want the whole answer", len(got.Logs), got.Completed_at)
		assert.True(t, resp.ContentLength == int64(len(body)), "Content-Length %d, want %d", resp.ContentLength, len(body))
	}
}

func TestServer_ReleaseWhenReaderLeavesBigAnswer(t *testing.T) {
	f := newFake()
	f.result.Output = bigString(64 << 20) // more than sockets buffer
	c := serve(t, f, Options{}).dial(t)
	c.post(`{"id":"left"}`)
	_, err := c.br.ReadByte()
	assert.NoError(t, err)
	c.Close()
	wait(t, f.released, "the release of an answer that is not read")
}

func TestServer_HeadIsGetWithoutBody(t *testing.T) {
	f := newFake()
	f.schema = []byte(`{"openapi":"3.0.2"}`)
	f.health = health.Document{Status: "READY"}
	s := serve(t, f, Options{})
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true}} // nor does HEAD ask for any
	for _, path := range []string{"/", "/health-check", "/openapi.json"} {
		get := assert.Must(plain.Get("http://" + s.addr + path))(t)
		get.Body.Close()
		head := assert.Must(http.Head("http://" + s.addr + path))(t)
		head.Body.Close()
		assert.Equal(t, path+": head.StatusCode", head.StatusCode, 200)
		assert.Equal(t, path+": head.ContentLength", head.ContentLength, get.ContentLength)
		assert.Equal(t, path+`: head.Header.Get("Content-Type")`, head.Header.Get("Content-Type"), "application/json")
	}
}

func TestServer_KeepAliveAndPipelining(t *testing.T) {
	c := serve(t, newFake(), Options{}).dial(t)
	for i := range 3 {
		c.post(`{"id":"one-` + strconv.Itoa(i) + `"}`)
		if _, body := c.want(200); !strings.Contains(body, `"one-`+strconv.Itoa(i)+`"`) {
			t.Errorf("answer %d: %s, want it to contain %q", i, body, `"one-`+strconv.Itoa(i)+`"`)
		}
	}
	var requests strings.Builder
	for i := range 20 {
		requests.WriteString(postRequest(`{"id":"many-` + strconv.Itoa(i) + `"}`))
	}
	requests.WriteString("GET /nope HTTP/1.1\r\nHost: x\r\n\r\n")
	c.send(requests.String())
	for i := range 20 {
		if _, body := c.want(200); !strings.Contains(body, `"many-`+strconv.Itoa(i)+`"`) {
			t.Errorf("pipelined answer %d: %s, want it to contain %q", i, body, `"many-`+strconv.Itoa(i)+`"`)
		}
	}
	c.want(404)
}

func TestServer_Cancel(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{})
	for _, c := range []struct{ id, path string }{
		{"plain", "plain"}, {"a b+c%ü", "a%20b+c%25%C3%BC"}, {`"`, `%22`}, {"..", "%2e%2e"},
	} {
		client, other := s.dial(t), s.dial(t)
		body, _ := json.Marshal(map[string]string{"id": c.id})
		client.post(string(body))
		wait(t, f.started, "the prediction")
		other.send("POST /predictions/" + c.path + "/cancel HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
		if _, body := other.want(200); body != "{}" {
			t.Errorf(`%s: %s, want "{}"`, c.id, body)
		}
		if _, body := client.want(200); !strings.Contains(body, `"status":"canceled"`) {
			t.Errorf("%s: %s, want it to contain %q", c.id, body, `"status":"canceled"`)
		}
		id := wait(t, f.canceled, "the cancel")
		assert.True(t, id == c.id, "canceled %q, want %q", id, c.id)
	}
}

func TestServer_ExpectContinue(t *testing.T) {
	c := serve(t, newFake(), Options{}).dial(t)
	c.send("POST /predictions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n")
	c.want(100)
	c.send(`{"id":"e"}`)
	c.want(200)
}

func TestServer_ConnectionHeaders(t *testing.T) {
	s := serve(t, newFake(), Options{})
	c := s.dial(t)
	c.send("GET / HTTP/1.0\r\n\r\n")
	resp, _ := c.want(200)
	assert.True(t, resp.Header.Get("Server") == "", "the answer names its server: %v, want Server empty", resp.Header)
	c.ended()
	c = s.dial(t)
	c.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	c.want(200)
	c.ended()
}

func TestServer_PanicIsLoggedAndAnswered(t *testing.T) {
	var log bytes.Buffer
	f := newFake()
	f.panics = "boom"
	s := serve(t, f, Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	c := s.dial(t)
	c.post(`{}`)
	c.want(500)
	c.ended()
	for _, want := range []string{"boom", "fake_test.go", "/predictions"} {
		assert.Contains(t, "the log", log.String(), want)
	}
	f.panics = ""
	c = s.dial(t)
	c.post(`{}`)
	c.want(200)
}

func TestServer_ShutdownIsPassedOn(t *testing.T) {
	f := newFake()
	c := serve(t, f, Options{Shutdown: f.shutdown}).dial(t)
	c.send("POST /shutdown HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	c.want(200)
	wait(t, f.shutdowns, "the service's shutdown")
}
