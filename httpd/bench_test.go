package httpd

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

// still is a Service without any cost: each prediction is the same one, which has ended.
type still struct {
	*fake
	p *predict.Prediction
}

func newStill() still {
	p := predict.New("abcdefghijklmnopqrstuvwxyz", &predict.Request{}, epoch, ended{}, predict.Options{})
	p.End(predict.Result{
		Status: predict.Succeeded, Output: []byte(`"hello world"`),
		Metrics: []byte(`{"predict_time":0.000012}`),
	}, epoch)
	return still{newFake(), p}
}

func (s still) Create(predict.Request) (*predict.Prediction, error) {
	s.p.Hold()
	return s.p, nil
}

// ended is the Runner of such a prediction.
type ended struct{}

func (ended) Run(*predict.Prediction) error { return nil }
func (ended) Submit(*predict.Prediction)    {}
func (ended) Cancel(*predict.Prediction)    {}

// loopback returns a context on a real connection, with a request in it.
func loopback(t testing.TB, s *Server, body string) *fasthttp.RequestCtx {
	t.Helper()
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	peer := assert.Must(net.Dial("tcp", ln.Addr().String()))(t)
	t.Cleanup(func() { peer.Close() })
	nc := assert.Must(ln.Accept())(t)
	t.Cleanup(func() { nc.Close() })
	ctx := new(fasthttp.RequestCtx)
	c := assert.Must(s.transport.Adopt(nc))(t)
	t.Cleanup(func() { c.Close() })
	ctx.Init2(c, nil, false)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.SetRequestURI("/predictions")
	ctx.Request.SetBodyString(body)
	return ctx
}

// BenchmarkHandle measures what this package adds to a request, without fasthttp and the socket.
func BenchmarkHandle(b *testing.B) {
	s := New(always{newStill()}, Options{})
	ctx := loopback(b, s, `{"input":{"s":"world"}}`)
	b.ReportAllocs()
	for b.Loop() {
		s.handle(ctx)
		ctx.Response.Reset()
	}
}

// BenchmarkEnvelope reads a body with an image in it.
func BenchmarkEnvelope(b *testing.B) {
	body := []byte(`{"input":{"image":` + string(bigString(1<<20)) + `}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		assert.NoError(b, request.ReadJSON(new(predict.Request), body, true))
	}
}

// BenchmarkLoopback measures a whole request on one kept connection, against the least that fasthttp and sonic can do:
// decode the request, encode the same answer.
func BenchmarkLoopback(b *testing.B) {
	b.Run("pinion", func(b *testing.B) { roundTrips(b, serve(b, newStill(), Options{}).addr) })
	b.Run("bare", func(b *testing.B) {
		ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(b)
		defer ln.Close()
		go fasthttp.Serve(ln, bare)
		roundTrips(b, ln.Addr().String())
	})
}

// bare answers what BenchmarkLoopback's prediction answers.
func bare(ctx *fasthttp.RequestCtx) {
	var req struct {
		Input struct {
			S string `json:"s"`
		} `json:"input"`
	}
	if err := sonic.Unmarshal(ctx.PostBody(), &req); err != nil {
		ctx.Error(err.Error(), 400)
		return
	}
	type metrics struct {
		PredictTime float64 `json:"predict_time"`
	}
	body, _ := sonic.Marshal(struct {
		ID        string  `json:"id"`
		Status    string  `json:"status"`
		Output    string  `json:"output"`
		Logs      string  `json:"logs"`
		Metrics   metrics `json:"metrics"`
		Created   string  `json:"created_at"`
		Completed string  `json:"completed_at"`
	}{
		"abcdefghijklmnopqrstuvwxyz", "succeeded", "hello " + req.Input.S, "",
		metrics{0.000012},
		"2026-11-21T09:30:00.123456Z", "2026-11-21T09:30:00.123456Z",
	})
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

// roundTrips sends one request after the other on as many connections as there are processors.
func roundTrips(b *testing.B, addr string) {
	request := []byte(postRequest(`{"input":{"s":"world"}}`))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer nc.Close()
		br := bufio.NewReader(nc)
		var resp fasthttp.Response
		for pb.Next() {
			if _, err := nc.Write(request); err != nil {
				b.Error(err)
				return
			}
			if err := resp.Read(br); err != nil || resp.StatusCode() != 200 {
				b.Errorf("got %v %d, want 200", err, resp.StatusCode())
				return
			}
		}
	})
}

// BenchmarkBigAnswer streams 16 MiB from the record.
func BenchmarkBigAnswer(b *testing.B) {
	f := newFake()
	f.result.Output = bigString(16 << 20)
	s := serve(b, f, Options{})
	c := s.dial(b)
	b.SetBytes(16 << 20)
	b.ReportAllocs()
	for b.Loop() {
		c.post(`{}`)
		resp := assert.Must(http.ReadResponse(c.br, nil))(b)
		n, err := io.Copy(io.Discard, resp.Body)
		assert.TrueNow(b, n >= 16<<20 && err == nil, "got %d %v, want at least %d", n, err, 16<<20)
	}
}

// BenchmarkStream measures one event of a stream, from the model's yield to its client, which does as little as
// possible. The model is at most 512 events ahead, or its client would miss some.
func BenchmarkStream(b *testing.B) {
	for name, ahead := range map[string]int{"alone": 1, "many": 512} {
		b.Run(name, func(b *testing.B) {
			f := newFake()
			f.result = yielded
			read := make(chan int, 1<<16)
			f.runs = func(p *predict.Prediction) {
				token := []byte(`"token "`)
				room := ahead
				for range b.N {
					for ; room == 0; room += <-read {
					}
					room--
					p.Output(token)
				}
			}
			c := serve(b, f, Options{}).dial(b)
			buf := make([]byte, 64<<10)
			b.ReportAllocs()
			b.ResetTimer()
			c.send(streamRequest("a"))
			for got := 0; got < b.N; {
				n := assert.Must(c.Conn.Read(buf))(b)
				if events := bytes.Count(buf[:n], []byte("event: output")); events > 0 {
					got += events
					read <- events
				}
			}
			b.StopTimer()
		})
	}
}
