package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/tests/harness"
)

// doors are all ways to ask for a prediction.
func (m *mixed) doors() []func() {
	return []func(){
		m.whole, m.stream, m.chat, m.messages, m.responses, m.completions, m.embeddings, m.infer, m.generate, m.grpcInfer,
		m.grpcStream, m.kserve, m.vertex, m.sageMaker, m.sageMakerStream, m.replicate, m.replicateWait, m.replicateStream,
	}
}

// ask sends a request for a text, and judges the tokens of the answer.
func (m *mixed) ask(door, path string, body func(text string, n int) any, headers ...string) {
	text, n, want := m.begin()
	a := m.s.Do(http.MethodPost, path, body(text, n), headers...)
	m.ended(door, text, pieces(a.Body), want, a)
}

var token = regexp.MustCompile(`u\d+x*\.\d+\|`)

// pieces are the tokens in a body, whoever they belong to, in order, each once: some streams end with the whole text.
func pieces(body []byte) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, each := range token.FindAllString(string(body), -1) {
		if !seen[each] {
			b.WriteString(each)
		}
		seen[each] = true
	}
	return b.String()
}

func conversation(text string) []map[string]string {
	return []map[string]string{{"role": "user", "content": text}}
}

func inputs(text string, n int) any { return map[string]any{"text": text, "max_tokens": n} }

func prediction(text string, n int) any { return map[string]any{"input": inputs(text, n)} }

func instances(text string, n int) any { return map[string]any{"instances": []any{inputs(text, n)}} }

func (m *mixed) whole() { m.ask("prediction", "/models/chat/predictions", prediction) }

func (m *mixed) stream() {
	m.ask("stream", "/models/chat/predictions", prediction, "Accept", "text/event-stream")
}

func (m *mixed) kserve() { m.ask("KServe v1", "/v1/models/chat:predict", instances) }

func (m *mixed) vertex() { m.ask("Vertex", "/vertex", instances) }

func (m *mixed) sageMaker() { m.ask("SageMaker", "/invocations", inputs) }

func (m *mixed) sageMakerStream() {
	m.ask("SageMaker stream", "/invocations", inputs, "Accept", "text/event-stream")
}

func (m *mixed) chat() { m.openAI("chat", "/v1/chat/completions", "max_tokens", true) }

func (m *mixed) messages() { m.openAI("messages", "/v1/messages", "max_tokens", true) }

func (m *mixed) responses() { m.openAI("responses", "/v1/responses", "max_output_tokens", false) }

func (m *mixed) completions() { m.openAI("completions", "/v1/completions", "max_tokens", true) }

func (m *mixed) openAI(door, path, bound string, streams bool) {
	m.ask(door, path, func(text string, n int) any {
		body := map[string]any{"model": "chat", bound: n, "stream": streams && rand.IntN(2) == 0}
		switch door {
		case "completions":
			body["model"], body["prompt"] = "complete", text
		case "responses":
			body["input"] = conversation(text)
		default:
			body["messages"] = conversation(text)
		}
		return body
	})
}

func (m *mixed) embeddings() {
	text, _, _ := m.begin()
	text = strings.TrimRight(text, "x")
	a := m.s.Do(http.MethodPost, "/v1/embeddings", map[string]any{"model": "embed", "input": text})
	var list struct {
		Data []struct{ Embedding json.RawMessage }
	}
	_ = json.Unmarshal(a.Body, &list) // none where it failed
	var got string
	for _, each := range list.Data {
		got += string(each.Embedding)
	}
	m.ended("embeddings", text, got, fmt.Sprintf("[%s.0,-%[1]s.0]", text[1:]), a)
}

func (m *mixed) infer() {
	m.ask("OIP", "/v2/models/chat/infer", func(text string, n int) any {
		return map[string]any{"inputs": []any{
			map[string]any{"name": "text", "datatype": "BYTES", "shape": []int{1}, "data": []string{text}},
			map[string]any{"name": "max_tokens", "datatype": "INT64", "shape": []int{1}, "data": []int{n}},
		}}
	})
}

func (m *mixed) generate() { m.ask("OIP stream", "/v2/models/chat/generate_stream", inputs) }

func inferRequest(text string, n int) *pb.ModelInferRequest {
	return &pb.ModelInferRequest{ModelName: "chat", Inputs: []*pb.ModelInferRequest_InferInputTensor{
		{
			Name: "text", Datatype: "BYTES", Shape: []int64{1},
			Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte(text)}},
		},
		{
			Name: "max_tokens", Datatype: "INT64", Shape: []int64{1},
			Contents: &pb.InferTensorContents{Int64Contents: []int64{int64(n)}},
		},
	}}
}

func (m *mixed) grpcInfer() {
	text, n, want := m.begin()
	answer, err := m.grpc.ModelInfer(m.t.Context(), inferRequest(text, n))
	m.ended("gRPC", text, pieces(fmt.Append(nil, answer)), want, grpcAnswer(err, ""))
}

func (m *mixed) grpcStream() {
	text, n, want := m.begin()
	stream, err := m.grpc.ModelStreamInfer(m.t.Context())
	if err == nil {
		err = stream.Send(inferRequest(text, n))
	}
	var got []byte
	var failure string
	if err == nil && stream.CloseSend() == nil {
		for failure == "" {
			var answer *pb.ModelStreamInferResponse
			if answer, err = stream.Recv(); err != nil {
				break
			}
			failure = answer.GetErrorMessage()
			got = fmt.Append(got, answer.GetInferResponse())
		}
	}
	m.ended("gRPC stream", text, pieces(got), want, grpcAnswer(err, failure))
}

// grpcAnswer returns a call's error as HTTP has it.
func grpcAnswer(err error, failure string) harness.Answer {
	code := http.StatusOK
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted:
		code = http.StatusServiceUnavailable
	case codes.Internal:
		code = http.StatusInternalServerError
	}
	return harness.Answer{Code: code, Body: fmt.Append(nil, failure, err)}
}

// replicated is a prediction of Replicate's API.
type replicated struct {
	ID     string
	Status string
	Urls   struct{ Get, Stream string }
}

// replicate makes a prediction and asks for it until it has ended.
func (m *mixed) replicate() {
	text, want, made, a := m.create()
	for made.Status == "starting" || made.Status == "processing" {
		time.Sleep(10 * time.Millisecond)
		a = m.s.Do(http.MethodGet, strings.TrimPrefix(made.Urls.Get, m.s.Address), nil)
		made.Status = a.Status
	}
	m.ended("Replicate", text, pieces(a.Output), want, a)
}

func (m *mixed) replicateWait() {
	m.ask("Replicate wait", "/v1/models/acme/chat/predictions", prediction, "Prefer", "wait")
}

// replicateStream makes a prediction, of which two clients read the stream: at once, and when it has ended.
func (m *mixed) replicateStream() {
	text, want, made, a := m.create()
	for range 2 {
		if made.Urls.Stream != "" {
			a = m.s.Do(http.MethodGet, strings.TrimPrefix(made.Urls.Stream, m.s.Address), nil)
		}
		m.ended("Replicate stream", text, pieces(a.Body), want, a)
	}
}

func (m *mixed) create() (text, want string, made replicated, a harness.Answer) {
	text, n, want := m.begin()
	a = m.s.Do(http.MethodPost, "/v1/models/acme/chat/predictions", prediction(text, n))
	_ = json.Unmarshal(a.Body, &made) // nothing where it is refused
	return text, want, made, a
}
