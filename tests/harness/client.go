package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// Prediction is the prediction object.
type Prediction struct {
	ID          string          `json:"id"`
	Status      string          `json:"status"`
	Output      json.RawMessage `json:"output"`
	Error       string          `json:"error"`
	Logs        string          `json:"logs"`
	Metrics     map[string]any  `json:"metrics"`
	CreatedAt   string          `json:"created_at"`
	StartedAt   string          `json:"started_at"`
	CompletedAt string          `json:"completed_at"`
	Version     string          `json:"version"`
}

// Answer is what the server answered.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
	Err    error // of the connection
	Prediction
}

// String returns an answer for messages.
func (a Answer) String() string {
	if a.Err != nil {
		return a.Err.Error()
	}
	return fmt.Sprintf("%d %.2000s", a.Code, a.Body)
}

// Text returns the output where it is a string.
func (a Answer) Text(t testing.TB) string {
	t.Helper()
	var text string
	a.Decode(t, &text)
	return text
}

// Decode reads the output.
func (a Answer) Decode(t testing.TB, to any) {
	t.Helper()
	assert.NoError(t, json.Unmarshal(a.Output, to), "read the output", "in", a)
}

// Do sends a request. body may be nil, []byte, string, io.Reader, or anything that becomes JSON.
func (s *Server) Do(method, path string, body any, headers ...string) Answer {
	return s.DoContext(context.Background(), method, path, body, headers...)
}

// DoContext is Do for a client that leaves at the end of ctx.
func (s *Server) DoContext(ctx context.Context, method, path string, body any, headers ...string) Answer {
	response, err := s.send(ctx, method, path, body, headers)
	if err != nil {
		return Answer{Err: err}
	}
	return answerOf(response)
}

// Open sends a request as Do does, and leaves the answer's body to be read. It is closed when the test ends.
func (s *Server) Open(t testing.TB, method, path string, body any, headers ...string) *http.Response {
	t.Helper()
	response := assert.Must(s.send(t.Context(), method, path, body, headers))(t)
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func (s *Server) send(ctx context.Context, method, path string, body any, headers []string) (*http.Response, error) {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		reader = bytes.NewReader(b)
	case string:
		reader = strings.NewReader(b)
	case io.Reader:
		reader = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, reader)
	if err != nil {
		return nil, err
	}
	if reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.client.Do(request)
}

// Create makes a prediction with this body and returns the answer.
func (s *Server) Create(body any, headers ...string) Answer {
	return s.Do(http.MethodPost, "/predictions", body, headers...)
}

// Input makes a prediction with this input.
func (s *Server) Input(input any) Answer { return s.Create(map[string]any{"input": input}) }

// Begin makes a prediction of this id in the background.
func (s *Server) Begin(id string, input any) <-chan Answer {
	answer := make(chan Answer, 1)
	go func() { answer <- s.Create(map[string]any{"id": id, "input": input}) }()
	return answer
}

// Succeed makes a prediction that is to succeed.
func (s *Server) Succeed(input any) Answer {
	s.t.Helper()
	a := s.Input(input)
	if a.Err != nil || a.Code != http.StatusOK || a.Status != "succeeded" {
		s.t.Fatalf("input %s: %s, want Code 200 and Status succeeded", short(input), a)
	}
	return a
}

// Fail makes a prediction that is to fail in the model.
func (s *Server) Fail(input any) Answer {
	s.t.Helper()
	return s.fail(input, http.StatusOK)
}

// FailInput makes a prediction that is to fail because of its input, which the schema allows.
func (s *Server) FailInput(input any) Answer {
	s.t.Helper()
	return s.fail(input, http.StatusUnprocessableEntity)
}

func (s *Server) fail(input any, code int) Answer {
	s.t.Helper()
	a := s.Input(input)
	if a.Err != nil || a.Code != code || a.Status != "failed" || a.Prediction.Output != nil {
		s.t.Fatalf("input %s: %s, want Code %d, Status failed and Output nil", short(input), a, code)
	}
	return a
}

func short(v any) string {
	text, _ := json.Marshal(v) // for a message
	return fmt.Sprintf("%.300s", text)
}

// Cancel asks for the end of a prediction and returns the status code.
func (s *Server) Cancel(id string) Answer {
	return s.Do(http.MethodPost, "/predictions/"+id+"/cancel", nil)
}

// Receive waits for an answer that was begun, or for what else comes from a channel.
func Receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	var got T
	assert.Eventually(t, fmt.Sprintf("%T comes", got), func() bool {
		select {
		case got = <-from:
			return true
		default:
			return false
		}
	})
	return got
}

// CloseIdle closes the connections that no request uses.
func (s *Server) CloseIdle() { s.client.CloseIdleConnections() }

func readAnswer(from *bufio.Reader) Answer {
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		return Answer{Err: err}
	}
	return answerOf(response)
}

func answerOf(response *http.Response) Answer {
	defer response.Body.Close()
	a := Answer{Code: response.StatusCode, Header: response.Header}
	if a.Body, a.Err = io.ReadAll(response.Body); a.Err == nil {
		_ = json.Unmarshal(a.Body, &a.Prediction) // another answer than a prediction leaves it empty
	}
	return a
}
