package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/predict"
)

// remotely asks a running server.
func (a *asking) remotely() error {
	if !isHTTP(a.url) {
		return fmt.Errorf("--url %q: it is an http or https URL", a.url)
	}
	base := strings.TrimRight(a.url, "/")
	document, err := fetchDocument(base)
	if err != nil {
		return failed(err)
	}
	input, err := a.read(document)
	if err != nil {
		return failed(err)
	}
	plural := "/predictions/"
	if a.train {
		plural = "/trainings/"
	}
	r := &remote{address: base + plural + predict.NewID(time.Now()), live: terminal.NewTokens(a.screen, os.Stdout)}
	r.stream = a.isLive() && bytes.Contains(document, []byte(`"x-cog-streaming"`))
	a.screen.Show(a.verb())
	got, err := r.ask(input)
	r.live.Finish()
	a.screen.Hide()
	if err != nil {
		return failed(err)
	}
	if got.logs != "" {
		fmt.Fprint(os.Stderr, strings.TrimSuffix(got.logs, "\n")+"\n")
	}
	return a.report(got.answer, r.live)
}

// authorize gives a request the token that the server may want.
func authorize(request *http.Request) {
	if token := os.Getenv("PINION_AUTH_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
}

// askRemote sends a request without a body.
func askRemote(method, address string) (*http.Response, error) {
	request, err := http.NewRequest(method, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	authorize(request)
	return http.DefaultClient.Do(request)
}

// fetchDocument is a server's OpenAPI document.
func fetchDocument(base string) ([]byte, error) {
	response, err := askRemote(http.MethodGet, base+"/openapi.json")
	if err != nil {
		return nil, fmt.Errorf("ask the server for its schema: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(complaint(response, body))
	}
	if err != nil {
		return nil, fmt.Errorf("ask the server for its schema: %w", err)
	}
	return body, nil
}

// complaint is why a server refused, in its own words where it has some.
func complaint(response *http.Response, body []byte) string {
	var said struct {
		Error  string          `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	_ = json.Unmarshal(body, &said) // a proxy's page says nothing that can be read
	var detail string
	if json.Unmarshal(said.Detail, &detail) != nil {
		detail = string(said.Detail)
	}
	return response.Status + ": " + cmp.Or(said.Error, detail, "it says no more")
}

// remote is one prediction of a server's.
type remote struct {
	address string // of the prediction
	stream  bool
	live    *terminal.Tokens
}

type remoteAnswer struct {
	answer
	logs string
}

// ask makes the prediction. An interrupt cancels it; a second one gives up waiting.
func (r *remote) ask(input []byte) (remoteAnswer, error) {
	body := append(append([]byte(`{"input":`), input...), '}')
	request, err := http.NewRequest(http.MethodPut, r.address, bytes.NewReader(body))
	if err != nil {
		return remoteAnswer{}, fmt.Errorf("ask the server: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	authorize(request)
	request.Header.Set("User-Agent", "pinion/"+version)
	if r.stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	type result struct {
		got remoteAnswer
		err error
	}
	done := make(chan result, 1)
	go func() {
		got, err := r.send(request)
		done <- result{got, err}
	}()
	signals := watchSignals(false)
	var asked interrupts
	for first := true; ; {
		select {
		case d := <-done:
			d.got.interrupted = asked.any()
			return d.got, d.err
		case sig := <-signals:
			if asked.again(sig) {
				return remoteAnswer{}, &exitError{code: exitInterrupted}
			}
			if first {
				first = false
				go r.cancel()
			}
		}
	}
}

func (r *remote) cancel() {
	response, err := askRemote(http.MethodPost, r.address+"/cancel")
	if err == nil { // else the answer tells, or a second interrupt ends the waiting
		response.Body.Close()
	}
}

func (r *remote) send(request *http.Request) (remoteAnswer, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return remoteAnswer{}, fmt.Errorf("ask the server: %w", err)
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return r.follow(response.Body)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return remoteAnswer{}, fmt.Errorf("read the server's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return remoteAnswer{}, fmt.Errorf("the server refused: %s", complaint(response, body))
	}
	return readPrediction(body)
}

func readPrediction(body []byte) (remoteAnswer, error) {
	var p struct {
		Status string          `json:"status"`
		Output json.RawMessage `json:"output"`
		Error  string          `json:"error"`
		Logs   string          `json:"logs"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return remoteAnswer{}, fmt.Errorf("read the server's answer: %w", err)
	}
	return remoteAnswer{answer: answer{object: body, status: p.Status, err: p.Error, output: p.Output}, logs: p.Logs}, nil
}

// follow reads a stream of events until the prediction has ended.
func (r *remote) follow(body io.Reader) (remoteAnswer, error) {
	reader := bufio.NewReader(body)
	var event string
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return remoteAnswer{}, fmt.Errorf("read the server's stream: %w", err)
		}
		if name, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			event = string(bytes.TrimSpace(name))
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimSpace(data)
		switch event {
		case "output":
			var o struct {
				Chunk json.RawMessage `json:"chunk"`
			}
			if err := json.Unmarshal(data, &o); err != nil {
				return remoteAnswer{}, fmt.Errorf("read the server's stream: %w", err)
			}
			r.live.Add(o.Chunk)
		case "completed":
			return readPrediction(data)
		case "error":
			return remoteAnswer{}, fmt.Errorf("the server's stream broke off: %s", data)
		}
	}
}
