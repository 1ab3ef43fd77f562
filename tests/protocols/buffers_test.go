package protocols

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/harness"
)

// bufferClient is one of the clients that ask at once. Its answer has the text that the models make of ask.
type bufferClient struct {
	*http.Client
	s         *harness.Server
	number    int
	size      int
	ask, text string
	status    int // of the last answer
	header    http.Header
}

// bufferDoor asks for the client's text by one route, and returns the answer.
type bufferDoor func(c *bufferClient) (io.ReadCloser, error)

// post asks by a POST, whose body has what the client asks for as %s.
func post(path, body string, headers ...string) bufferDoor {
	return func(c *bufferClient) (io.ReadCloser, error) {
		return c.send(http.MethodPost, path, fmt.Sprintf(body, c.ask), headers...)
	}
}

// linked asks by a POST of Replicate's, and then for what its answer links to.
func linked(path, body string, link func(answer map[string]any) string) bufferDoor {
	return func(c *bufferClient) (io.ReadCloser, error) {
		answer, err := c.send(http.MethodPost, path, fmt.Sprintf(body, c.ask), "Prefer", "wait")
		if err != nil {
			return nil, err
		}
		defer answer.Close()
		var object map[string]any
		if err := json.NewDecoder(answer).Decode(&object); err != nil {
			return nil, err
		}
		return c.send(http.MethodGet, strings.TrimPrefix(link(object), c.s.Address), "", "Accept", "text/event-stream")
	}
}

func linkTo(name string) func(answer map[string]any) string {
	return func(answer map[string]any) string { return answer["urls"].(map[string]any)[name].(string) }
}

// send sends a request, and returns the answer's body.
func (c *bufferClient) send(method, path, body string, headers ...string) (io.ReadCloser, error) {
	request, err := http.NewRequest(method, c.s.Address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	for k := 0; k+1 < len(headers); k += 2 {
		request.Header.Set(headers[k], headers[k+1])
	}
	answer, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	c.status, c.header = answer.StatusCode, answer.Header
	return answer.Body, nil
}

// bufferDoors are the routes that answer with bytes of a model, or of a file. The default model is text.
var bufferDoors = map[string]bufferDoor{
	"native":                  post("/predictions", `{"input":{"text":"%s"}}`),
	"native, MessagePack":     post("/predictions", `{"input":{"text":"%s"}}`, "Accept", "application/msgpack"),
	"native, compressed":      post("/predictions", `{"input":{"text":"%s"}}`, "Accept-Encoding", "gzip"),
	"native, events":          post("/models/words/predictions", `{"input":{"text":"%s"}}`, "Accept", "text/event-stream"),
	"native, file":            post("/models/file/predictions", `{"input":{"text":"%s"}}`, "Accept", "application/octet-stream"),
	"chat":                    post("/v1/chat/completions", `{"model":"chat","messages":[{"role":"user","content":"%s"}]}`),
	"chat, tokens":            post("/v1/chat/completions", `{"model":"tokens","messages":[{"role":"user","content":"%s"}]}`),
	"chat, events":            post("/v1/chat/completions", `{"model":"tokens","stream":true,"messages":[{"role":"user","content":"%s"}]}`),
	"chat, events of a whole": post("/v1/chat/completions", `{"model":"chat","stream":true,"messages":[{"role":"user","content":"%s"}]}`),
	"chat, stop":              post("/v1/chat/completions", `{"model":"tokens","stop":"zz","messages":[{"role":"user","content":"%s"}]}`),
	"completions":             post("/v1/completions", `{"model":"completions","prompt":"%s"}`),
	"messages":                post("/v1/messages", `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"%s"}]}`),
	"messages, events":        post("/v1/messages", `{"model":"tokens","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"%s"}]}`),
	"responses":               post("/v1/responses", `{"model":"chat","input":"%s"}`),
	"responses, events":       post("/v1/responses", `{"model":"tokens","stream":true,"input":"%s"}`),
	"rerank": func(c *bufferClient) (io.ReadCloser, error) {
		return c.send(http.MethodPost, "/v1/rerank", `{"model":"rerank","query":"q","documents":["`+c.text+`"]}`)
	},
	"embeddings": func(c *bufferClient) (io.ReadCloser, error) {
		number := fmt.Sprint(100+c.number, ".5")
		c.text = strings.TrimSuffix(strings.Repeat(number+",", c.size/len(number+",")+1), ",")
		return c.send(http.MethodPost, "/v1/embeddings",
			fmt.Sprintf(`{"model":"embeddings","input":"%s:%d"}`, number, len(c.text)+1))
	},
	"KServe":                        post("/v1/models/text:predict", `{"instances":[{"text":"%s"},{"text":"%[1]s"}]}`),
	"Vertex":                        post("/vertex", `{"instances":[{"text":"%s"}]}`),
	"invocations, the output alone": post("/invocations", `{"text":"%s"}`),
	"invocations, a prediction":     post("/invocations", `{"input":{"text":"%s"}}`),
	"invocations, instances":        post("/invocations", `{"instances":[{"text":"%s"},{"text":"%[1]s"}]}`),
	"OIP": post("/v2/models/text/infer",
		`{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["%s"]}]}`),
	"OIP, binary": post("/v2/models/text/infer",
		`{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["%s"]}],"parameters":{"binary_data_output":true}}`),
	"OIP, generate": post("/v2/models/text/generate", `{"text_input":"%s"}`),
	"OIP, events":   post("/v2/models/words/generate_stream", `{"text_input":"%s"}`),
	"OIP, gRPC":     inferOverGRPC,
	"MCP":           post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"text","arguments":{"text":"%s"}}}`),
	"MCP, events": post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"words","arguments":{"text":"%s"},"_meta":{"progressToken":1}}}`,
		"Accept", "application/json, text/event-stream"),
	"MCP, task":         taskOverMCP,
	"Replicate":         linked("/v1/models/acme/text/predictions", `{"input":{"text":"%s"}}`, linkTo("get")),
	"Replicate, new":    post("/v1/models/acme/text/predictions", `{"input":{"text":"%s"}}`, "Prefer", "wait"),
	"Replicate, events": linked("/v1/models/acme/words/predictions", `{"input":{"text":"%s"}}`, linkTo("stream")),
	"Replicate, files": func(c *bufferClient) (io.ReadCloser, error) {
		const form = "--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"a\"\r\n\r\n%s\r\n--b--\r\n"
		answer, err := c.send(http.MethodPost, "/v1/files", fmt.Sprintf(form, c.text), "Content-Type",
			"multipart/form-data; boundary=b")
		if err != nil {
			return nil, err
		}
		defer answer.Close()
		var object map[string]any
		if err := json.NewDecoder(answer).Decode(&object); err != nil {
			return nil, err
		}
		return c.send(http.MethodGet, strings.TrimPrefix(linkTo("get")(object), c.s.Address), "")
	},
	"examples of the page": func(c *bufferClient) (io.ReadCloser, error) {
		file := fmt.Sprint(c.number, "-", c.size)
		if err := os.WriteFile(filepath.Join(c.s.Dir, "cog_examples", file), []byte(c.text), 0o600); err != nil {
			return nil, err
		}
		return c.send(http.MethodGet, "/models/text/docs/examples/"+file, "")
	},
}

// taskOverMCP asks for a task's result until it is there.
func taskOverMCP(c *bufferClient) (io.ReadCloser, error) {
	ask := func(method, name, params string) (io.ReadCloser, error) {
		return c.send(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+tasks.capabilities+`}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
	}
	answer, err := ask("tools/call", "text", `"name":"text","arguments":{"text":"`+c.ask+`"}`)
	for err == nil {
		var id string
		begin := bufio.NewReader(answer)
		head, _ := begin.Peek(500)
		if _, after, working := strings.Cut(string(head), `"taskId":"`); working {
			id, _, _ = strings.Cut(after, `"`)
		}
		if id == "" || strings.Contains(string(head), `"status":"completed"`) || c.status >= http.StatusMultipleChoices {
			return readCloser{begin, answer}, nil
		}
		answer.Close()
		answer, err = ask("tasks/get", id, `"taskId":"`+id+`"`)
	}
	return nil, err
}

// readCloser reads from one and closes the other.
type readCloser struct {
	io.Reader
	io.Closer
}

func inferOverGRPC(c *bufferClient) (io.ReadCloser, error) {
	conn, err := grpc.NewClient(c.s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answer, err := pb.NewGRPCInferenceServiceClient(conn).ModelInfer(context.Background(), &pb.ModelInferRequest{
		ModelName: "text", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
			Name: "text", Datatype: "BYTES", Shape: []int64{1},
			Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte(c.ask)}},
		}},
	})
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, o := range answer.Outputs {
		all = append(all, bytes.Join(o.GetContents().GetBytesContents(), nil)...)
	}
	return io.NopCloser(bytes.NewReader(append(all, bytes.Join(answer.RawOutputContents, nil)...))), nil
}

// TestBuffers_AnswersAreTheirClients: buffers of answers are used again, so each client must get what it asked for, in
// every protocol, in sizes around those at which answers lie in other memory, and also if it reads late.
func TestBuffers_AnswersAreTheirClients(t *testing.T) {
	t.Parallel()
	dir, models := bufferModels(t, "Text", "Words", "File", "Chat", "Tokens", "Completions", "Rerank", "Embeddings")
	s := harness.Start(t, harness.Options{
		Binary: harness.Poisoned(t), Models: models, Dir: dir, Python: harness.AnyPython(t).Path,
		Args: []string{"--queue", "64", "--grpc-port", "0", "--mcp-task-after", "0"}, Env: []string{"AIP_PREDICT_ROUTE=/vertex"},
	})
	harness.WaitModels(t, s)
	for name, door := range bufferDoors {
		for _, size := range []int{1, 63 << 10, 64 << 10, 65 << 10, 1 << 20} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) { askBuffers(t, s, door, size) })
		}
	}
}

// bufferModels returns the arguments of models, and the folder of the first one, which has examples for the page.
func bufferModels(t *testing.T, classes ...string) (dir string, models []string) {
	source := harness.ReadFile(t, filepath.Join(harness.Models(t), "buffers.py"))
	for i, class := range classes {
		folder := harness.NewFolder(t, "run.py", source, "cog.yaml", "run: run.py:"+class+"\n", "cog_examples/none", "")
		if i == 0 {
			dir = folder
		}
		models = append(models, strings.ToLower(class)+"="+folder)
	}
	return dir, models
}

func bufferClientOf(client *http.Client, s *harness.Server, number, size int) *bufferClient {
	mark := fmt.Sprintf("%c.client%d.", 'A'+number%26, number)
	return &bufferClient{
		Client: client, s: s, number: number, size: size, ask: fmt.Sprint(mark, ":", size),
		text: strings.Repeat(mark, size/len(mark)+1)[:size],
	}
}

// askBuffers has several clients ask at once. Half of them read the most of their answers when the others have theirs.
func askBuffers(t *testing.T, s *harness.Server, door bufferDoor, size int) {
	const quick, slow = 4, 4
	var others sync.WaitGroup
	others.Add(quick)
	client := lateReader()
	defer client.CloseIdleConnections()
	harness.RunClients(t, quick+slow, func(i int) error {
		late := i >= quick
		if !late {
			defer others.Done()
		}
		c := bufferClientOf(client, s, i, size)
		answer, err := door(c)
		if err != nil {
			return err
		}
		defer answer.Close()
		if late {
			others.Wait()
		}
		body, err := io.ReadAll(answer)
		if err != nil {
			return err
		}
		return c.check(body)
	})
}

// check reports whether an answer has the client's text, and no other but its envelope.
func (c *bufferClient) check(body []byte) error {
	const envelope = 8 << 10
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		from, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		if body, err = io.ReadAll(from); err != nil {
			return err
		}
	}
	if rest := bytes.ReplaceAll(body, []byte(c.text), nil); len(rest) == len(body) || len(rest) > envelope {
		return fmt.Errorf("got %d bytes, %d of them not the %d of %.20q: %.300q", len(body), len(rest), len(c.text), c.text, rest)
	}
	return nil
}

// lateReader returns a client whose connections take little before they are read.
func lateReader() *http.Client {
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return cmp.Or(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		}), err)
	}}
	return &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
	}}
}
