package protocols

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// bufferDoor is a route whose answer has a text that the client asks for. "%s" in the body is what the model makes the
// text of.
type bufferDoor struct {
	path, body string
	headers    []string
	notJSON    bool // the answer
}

// bufferDoors are the routes that answer with bytes of a model. The default model is text.
var bufferDoors = map[string]bufferDoor{
	"invocations, the output alone": {path: "/invocations", body: `{"text":"%s"}`},
	"invocations, a prediction":     {path: "/invocations", body: `{"input":{"text":"%s"}}`},
	"invocations, instances":        {path: "/invocations", body: `{"instances":[{"text":"%s"},{"text":"%[1]s"}]}`},
}

// TestBuffers_AnswersAreTheirClients: buffers of answers are used again, so each client must get what it asked for, in
// every protocol, in sizes around those at which answers lie in other memory, and also if it reads late.
func TestBuffers_AnswersAreTheirClients(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	var models []string
	for _, class := range []string{"Text", "Words", "File", "Chat", "Tokens", "Completions", "Rerank", "Embeddings"} {
		name := strings.ToLower(class)
		folder := harness.NewFolder(t, "run.py", harness.ReadFile(t, filepath.Join(dir, "buffers.py")), "cog.yaml",
			"run: run.py:"+class+"\n")
		models = append(models, name+"="+folder)
	}
	s := harness.Start(t, harness.Options{
		Binary: harness.Poisoned(t), Models: models, Python: harness.AnyPython(t).Path,
		Args: []string{"--queue", "64"}, Env: []string{"AIP_PREDICT_ROUTE=/vertex"},
	})
	harness.WaitModels(t, s)
	for name, door := range bufferDoors {
		for _, size := range []int{1, 63 << 10, 64 << 10, 65 << 10, 1 << 20} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) { askBuffers(t, s, door, size) })
		}
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
		mark := fmt.Sprintf("%c.client%d.", 'A'+i, i)
		request, err := http.NewRequest(http.MethodPost, s.Address+door.path,
			strings.NewReader(fmt.Sprintf(door.body, fmt.Sprint(mark, ":", size))))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		for k := 0; k+1 < len(door.headers); k += 2 {
			request.Header.Set(door.headers[k], door.headers[k+1])
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if late {
			others.Wait()
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		return door.checkAnswer(body, strings.Repeat(mark, size/len(mark)+1)[:size])
	})
}

// checkAnswer reports whether an answer has the text, and no other but its envelope.
func (d bufferDoor) checkAnswer(body []byte, text string) error {
	const envelope = 4 << 10
	rest := bytes.ReplaceAll(body, []byte(text), nil)
	if len(text) == 1 {
		rest = bytes.Replace(body, []byte(text), nil, 1)
	}
	if len(rest) == len(body) || len(rest) > envelope || !d.notJSON && !json.Valid(body) {
		return fmt.Errorf("got %d bytes, %d of them not the %d of %.20q: %.300q", len(body), len(rest), len(text), text, rest)
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
