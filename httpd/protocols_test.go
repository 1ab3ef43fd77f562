package httpd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// protocolService is a fake behind a protocol: its predictions have their own ids.
type protocolService struct {
	*fake
	made atomic.Int64
}

func (s *protocolService) Assign(req predict.Request) (*predict.Prediction, error) {
	req.ID = fmt.Sprint("p", s.made.Add(1))
	return s.fake.Create(req)
}

func (s *protocolService) SubmitAll([]*predict.Prediction) {}
func (s *protocolService) LoadOpenAPI() ([]byte, bool)     { return s.OpenAPI() }
func (s *protocolService) State() protocol.State           { return protocol.State{Name: "READY"} }
func (s *protocolService) Load() error                     { return nil }
func (s *protocolService) Unload() error                   { return nil }

// lines is a renderer that writes a line for each item. It is done after the item "bad".
type lines struct{ bad bool }

func (l *lines) Item(dst, item []byte) ([]byte, bool) {
	l.bad = string(item) == `"bad"`
	return append(append(dst, item...), '\n'), !l.bad
}

func (l *lines) NextRow(dst []byte) []byte { return append(dst, "next\n"...) }
func (l *lines) Done() bool                { return l.bad }

func (l *lines) End(dst []byte, err *protocol.Error) []byte {
	if err != nil {
		return append(append(dst, err.Error()...), '\n')
	}
	return append(dst, "end\n"...)
}

// lineProtocol has one route, which streams rows predictions with the body as their input.
func lineProtocol(svc protocol.Service, rows int) protocol.Protocol {
	m := protocol.NewModel("m", svc)
	refuse := func(ctx *fasthttp.RequestCtx, err *protocol.Error) {
		ctx.SetStatusCode(err.Kind.Status())
		ctx.SetBodyString(err.Error())
	}
	return protocol.Protocol{
		Name: "lines", Prefixes: []string{"/lines"}, Refuse: refuse,
		Routes: []protocol.Route{{Method: fasthttp.MethodPost, Path: "/lines", Handle: func(x *protocol.Exchange) {
			body, err := x.Body()
			if err == nil {
				input := fmt.Appendf(nil, `{"s":%s}`, body.Data)
				call := protocol.Call{Body: body, Stream: true}
				for range rows {
					call.Inputs = append(call.Inputs, input)
				}
				var run *protocol.Run
				if run, err = x.Begin(m, call); err == nil {
					err = x.Stream(run, "text/event-stream", &lines{})
				}
			}
			if err != nil {
				refuse(x.RequestCtx, err)
			}
		}}},
	}
}

func linesRequest(body string) string {
	return fmt.Sprintf("POST /lines HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// TestProtocol_StreamComments: a stream of another protocol has comments while its model is silent, also before its
// first item.
func TestProtocol_StreamComments(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{
		StreamComment: 5 * time.Millisecond,
		Protocols:     []protocol.Protocol{lineProtocol(&protocolService{fake: f}, 1)},
	})
	c := s.dial(t)
	c.send(linesRequest("1"))
	p := wait(t, f.started, "the prediction")
	st := c.follow()
	for range 2 {
		st.want("", ": keep-alive")
	}
	p.Output([]byte("1"))
	for line := ""; line != "1\n"; {
		line, _ = st.br.ReadString('\n')
	}
	for line := ""; !strings.HasPrefix(line, ": keep-alive"); {
		var err error
		line, err = st.br.ReadString('\n')
		assert.NoError(t, err)
	}
	f.finish(p)
	rest, err := io.ReadAll(st.br)
	assert.True(t, err == nil && strings.HasSuffix(string(rest), "end\n"),
		"it ends with %q, %v, want it to end in %q", rest, err, "end\n")
}

// TestProtocol_StreamEndsEarly: after a bad item the other rows, which would run forever, are canceled.
func TestProtocol_StreamEndsEarly(t *testing.T) {
	f := newFake()
	f.hold = true
	s := serve(t, f, Options{Protocols: []protocol.Protocol{lineProtocol(&protocolService{fake: f}, 3)}})
	c := s.dial(t)
	c.send(linesRequest("1"))
	wait(t, f.started, "the first row").Output([]byte(`"bad"`))
	_, body := c.want(200)
	assert.True(t, body == "\"bad\"\nend\n", "the stream is %q, want %q", body, "\"bad\"\nend\n")
	for range 3 {
		wait(t, f.canceled, "the cancel of each row")
	}
}

// TestProtocols_InputsOfDiskBodiesAreCharged: inputs that a protocol makes of a body on disk count against the memory
// budget.
func TestProtocols_InputsOfDiskBodiesAreCharged(t *testing.T) {
	text := `"` + strings.Repeat("x", 20*mib) + `"`
	for _, c := range []struct {
		budget int64
		status int
	}{{30 * mib, 200}, {16 * mib, 413}} {
		f, b := newFake(), memory.New(c.budget)
		var used int64
		f.runs = func(p *predict.Prediction) {
			used = b.Stats().Used
			p.Output([]byte("1"))
		}
		spool := func(int64) (*os.File, error) { return os.CreateTemp(t.TempDir(), "") }
		svc := &protocolService{fake: f}
		s := serve(t, f, Options{Memory: b, Spool: spool, Protocols: []protocol.Protocol{lineProtocol(svc, 3)}})
		conn := s.dial(t)
		conn.send(linesRequest(text))
		if _, body := conn.want(c.status); c.status == 200 && (used < 20*mib || used > 25*mib) {
			t.Errorf("%d bytes are charged for three rows that share 20 MiB; %.40s, want %d to %d", used, body, 20*mib, 25*mib)
		}
		left := b.Stats().Used
		assert.False(t, c.status != 200 && left != 0, "%d bytes stay charged, want 0", left)
	}
}
