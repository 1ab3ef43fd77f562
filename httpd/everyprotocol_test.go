package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	googlegrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"pinion/httpd/answers"
	"pinion/httpd/anthropic"
	"pinion/httpd/instances"
	"pinion/httpd/mcp"
	"pinion/httpd/negotiate"
	"pinion/httpd/oip"
	"pinion/httpd/oip/grpc"
	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/httpd/openai"
	"pinion/httpd/openai/responses"
	"pinion/httpd/protocol"
	"pinion/httpd/replicate"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

// entrance is a route that makes predictions.
type entrance struct {
	name, path, body string
	function         string // of @cog.openai
	headers          string
}

var entrances = []entrance{
	{name: "native", path: "/predictions", body: `{"input":{"text":"x"}}`},
	{name: "native stream", path: "/predictions", body: `{"input":{"text":"x"}}`, headers: "Accept: text/event-stream"},
	{name: "chat", path: "/v1/chat/completions", function: "chat", body: `{"model":"m","messages":[{"role":"user","content":"x"}]}`},
	{name: "chat stream", path: "/v1/chat/completions", function: "chat", body: `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`},
	{name: "completions", path: "/v1/completions", function: "completions", body: `{"model":"m","prompt":"x"}`},
	{name: "embeddings", path: "/v1/embeddings", function: "embeddings", body: `{"model":"m","input":"x"}`},
	{name: "images", path: "/v1/images/generations", function: "images", body: `{"model":"m","prompt":"x"}`},
	{name: "speech", path: "/v1/audio/speech", function: "speech", body: `{"model":"m","input":"x","voice":"v"}`},
	{name: "rerank", path: "/v1/rerank", function: "rerank", body: `{"model":"m","query":"x","documents":["y"]}`},
	{
		name: "transcriptions", path: "/v1/audio/transcriptions", function: "transcriptions",
		body: "--B\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n" +
			"--B\r\nContent-Disposition: form-data; name=file; filename=a.wav\r\n\r\nx\r\n--B--\r\n",
		headers: "Content-Type: multipart/form-data; boundary=B",
	},
	{name: "Responses", path: "/v1/responses", function: "chat", body: `{"model":"m","input":"x"}`},
	{name: "Messages", path: "/v1/messages", function: "chat", body: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`},
	{name: "OIP", path: "/v2/models/m/infer", body: `{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["x"]}]}`},
	{name: "OIP generate", path: "/v2/models/m/generate", body: `{"text_input":"x","text":"x"}`},
	{name: "KServe v1", path: "/v1/models/m:predict", body: `{"instances":[{"text":"x"}]}`},
	{name: "Vertex", path: "/vertex", body: `{"instances":[{"text":"x"}]}`},
	{name: "SageMaker", path: "/invocations", body: `{"text":"x"}`},
	{name: "Replicate", path: "/v1/predictions", body: `{"version":"pinion/m","input":{"text":"x"}}`, headers: "Prefer: wait"},
	{name: "MCP", path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","arguments":{"text":"x"}}}`},
	{name: "gRPC"},
}

// everyProtocol serves all protocols, and returns what makes a request at one of their routes.
func everyProtocol(t *testing.T, f *fake, function string) (ask func(e entrance, headers ...string) refusedAnswer) {
	t.Helper()
	f.schema = fmt.Appendf(nil, `{"paths":{"/predictions":{"post":{"x-cog-openai":%q}}},"components":{"schemas":{"Input":{"properties":{`+
		`"text":{"type":"string"},"messages":{"type":"array","items":{"type":"object"}},"prompt":{"type":"string"},`+
		`"input":{"type":"string"},"query":{"type":"string"},"documents":{"type":"array","items":{"type":"string"}},`+
		`"text_input":{"type":"string"},`+
		`"file":{"type":"string","format":"uri"}}},"Output":{"type":"string"}}}}`, function)
	if function == "" {
		f.schema = []byte(strings.Replace(string(f.schema), `"x-cog-openai":""`, "", 1))
	}
	models := protocol.Single(protocol.NewModel("m", &protocolService{fake: f}))
	s := serve(t, f, Options{TenantHeader: "X-Tenant", Protocols: []protocol.Protocol{
		oip.New(models, "1"), openai.New(models, false, responses.Dialect()), anthropic.New(models, false),
		instances.KServe(models), instances.Vertex(models, instances.VertexPaths{Predict: "/vertex"}),
		instances.SageMaker(models, nil), replicate.New(models, replicate.Options{}), mcp.New(models, mcp.Options{}),
	}})
	g := grpc.New(grpc.Options{Models: models, MaxMessage: 1 << 20, TenantHeader: "X-Tenant", Logger: s.out.Log})
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() { _ = g.Serve(ln) }()
	t.Cleanup(func() { _ = g.Shutdown(context.Background()) })
	conn, err := googlegrpc.NewClient(ln.Addr().String(), googlegrpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return func(e entrance, headers ...string) (a refusedAnswer) {
		t.Helper()
		if e.path == "" {
			ctx := context.Background()
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				ctx = metadata.AppendToOutgoingContext(ctx, name, value)
			}
			_, err := pb.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &pb.ModelInferRequest{
				ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
					Name: "text", Datatype: "BYTES", Shape: []int64{1}, Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte("x")}},
				}},
			})
			st := status.Convert(err)
			return refusedAnswer{code: int(st.Code()), text: st.Message(), waits: len(st.Details()) > 0}
		}
		req, err := http.NewRequest(http.MethodPost, "http://"+s.addr+e.path, strings.NewReader(e.body))
		assert.NoError(t, err)
		req.Header.Set("Content-Type", negotiate.TypeJSON)
		for _, h := range append([]string{e.headers}, headers...) {
			if name, value, ok := strings.Cut(h, ": "); ok {
				req.Header.Set(name, value)
			}
		}
		answer := assert.Must(http.DefaultClient.Do(req))(t)
		defer answer.Body.Close()
		text := assert.Must(io.ReadAll(answer.Body))(t)
		return refusedAnswer{
			code: answer.StatusCode, text: string(text), waits: answer.Header.Get("Retry-After") != "",
			retry: answer.Header.Get("X-Should-Retry"), elsewhere: answer.Header.Get(answers.HeaderRetry),
		}
	}
}

// refusedAnswer is what a client learns of a refusal.
type refusedAnswer struct {
	code             int // HTTP's, or gRPC's
	text             string
	waits            bool // it is told when to ask again
	retry, elsewhere string
}

// TestEveryProtocol_Refusals: each refusal has the status that its protocol has for its kind, and none is an error of
// the server. What a retry helps names its time, and what it could run twice is not repeated by OpenAI's clients.
func TestEveryProtocol_Refusals(t *testing.T) {
	type want struct {
		native, other int
		grpc          codes.Code
		waits, stays  bool // a retry helps; it must not be repeated by the client itself
		elsewhere     bool // natively
	}
	for what, c := range map[string]struct {
		err  error
		want want
	}{
		"a gateway without NATS": {&predict.UnavailableError{Reason: "away"}, want{503, 503, codes.Unavailable, true, false, true}},
		"a full queue":           {&predict.QueueFullError{RetryAfter: 2 * time.Second}, want{429, 429, codes.ResourceExhausted, true, false, true}},
		"in doubt":               {&predict.InDoubtError{ID: "a"}, want{503, 503, codes.Unavailable, true, true, false}},
		"ended":                  {predict.ErrEnded, want{409, 409, codes.AlreadyExists, false, true, false}},
		"in flight":              {predict.ErrInFlight, want{409, 409, codes.AlreadyExists, false, true, false}},
		"another input":          {predict.ErrOtherInput, want{409, 409, codes.AlreadyExists, false, true, false}},
		"no slot":                {predict.ErrBusy, want{409, 429, codes.ResourceExhausted, true, false, true}},
		"stopping":               {&predict.NotReadyError{Reason: "shutting down"}, want{503, 503, codes.Unavailable, true, false, true}},
		"unloaded":               {fmt.Errorf("m: %w", &predict.NotReadyError{Reason: "not loaded"}), want{503, 503, codes.Unavailable, true, false, true}},
		"loading":                {&predict.NotReadyError{Reason: "loading", RetryAfter: 9 * time.Second}, want{503, 503, codes.Unavailable, true, false, true}},
		"no memory":              {memory.ErrFull, want{503, 503, codes.Unavailable, true, false, true}},
		"no room for a body":     {&request.RoomError{Bytes: 9, Cause: memory.ErrFull}, want{503, 503, codes.Unavailable, true, false, true}},
		"over a limit":           {&predict.FileLimitError{Reason: "too many files"}, want{413, 413, codes.ResourceExhausted, false, false, false}},
		"timed out":              {predict.ErrQueueTimeout, want{408, 503, codes.Unavailable, true, false, true}},
		"too many followers":     {predict.ErrTooManySubscribers, want{429, 429, codes.ResourceExhausted, true, false, false}},
	} {
		for _, e := range entrances {
			t.Run(what+"/"+e.name, func(t *testing.T) {
				f := newFake()
				f.refusal = c.err
				a := everyProtocol(t, f, e.function)(e)
				code := c.want.other
				switch {
				case strings.HasPrefix(e.name, "native"):
					code = c.want.native
					assert.Equal(t, "that another server may take it", a.elsewhere == answers.Elsewhere, c.want.elsewhere)
				case e.path == "":
					code = int(c.want.grpc)
				case e.name == "MCP": // agents read it as the tool's result
					assert.Contains(t, "the result", a.text, `"isError":true`)
					code, a.waits = http.StatusOK, strings.Contains(a.text, "Try again in ")
				}
				assert.Equal(t, "the status of "+a.text, a.code, code)
				assert.Equal(t, "that it says when to ask again", a.waits, c.want.waits)
				if e.function != "" {
					assert.Equal(t, "that OpenAI's client does not repeat it", a.retry == "false", c.want.stays)
				}
				reason := c.err
				if inner := errors.Unwrap(reason); inner != nil && e.path == "" {
					reason = inner
				}
				assert.Contains(t, "the answer", a.text, reason.Error())
			})
		}
	}
}

// TestEveryProtocol_Meta: in each protocol a request has its tenant, class, deadline, trace and id.
func TestEveryProtocol_Meta(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, e := range entrances {
		t.Run(e.name, func(t *testing.T) {
			f := newFake()
			f.refusal = predict.ErrBusy // what it was asked is enough
			ask := everyProtocol(t, f, e.function)
			before := time.Now()
			ask(e, "X-Tenant: quiet", "Pinion-Priority: hi", "Pinion-Deadline: 1", "Traceparent: "+parent, "Tracestate: a=b",
				"X-Request-Id: my-id")
			got := f.request()
			assert.Equal(t, "the tenant", got.Tenant, "quiet")
			assert.Equal(t, "the class", got.Class, "hi")
			due := got.Deadline.Sub(before)
			assert.True(t, due >= time.Second && due < time.Minute, "the deadline is in %s, want one second after it came", due)
			assert.Equal(t, "the trace", got.TraceParent+" "+got.TraceState, parent+" a=b")
			assert.Equal(t, "the id", got.RequestID, "my-id")
			for _, bad := range []string{"Pinion-Priority: urgent", "Pinion-Deadline: soon"} {
				a := ask(e, bad)
				name, _, _ := strings.Cut(bad, ":")
				assert.Contains(t, "the refusal of "+bad, a.text, name)
				wrong := e.name == "MCP" && strings.Contains(a.text, `"isError":true`) || a.code >= 400 && a.code < 500 || e.path == "" && a.code == int(codes.InvalidArgument)
				assert.True(t, wrong, "%s: got %d, want an error of the client", bad, a.code)
			}
		})
	}
}
