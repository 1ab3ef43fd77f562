package oneshot

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/process"
)

// Client sends requests to a server.
type Client struct {
	Base      string // the server's URL, without a slash at its end
	Token     string // the bearer token that the server wants; "" means none
	UserAgent string
}

func (c *Client) authorize(request *http.Request) {
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
}

// ask sends a request without a body.
func (c *Client) ask(method, address string) (*http.Response, error) {
	request, err := http.NewRequest(method, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	c.authorize(request)
	return http.DefaultClient.Do(request)
}

func (c *Client) Document() ([]byte, error) {
	response, err := c.ask(http.MethodGet, c.Base+"/openapi.json")
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("ask the server for its schema: %w; 'pinion ps' lists the servers of this machine", err)
	}
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

// complaint returns why a server refused, in the server's words if its answer has any.
func complaint(response *http.Response, body []byte) string {
	var problem struct {
		Error  string          `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	_ = json.Unmarshal(body, &problem) // a proxy's page is not JSON
	var detail string
	if json.Unmarshal(problem.Detail, &detail) != nil {
		detail = string(problem.Detail)
	}
	return response.Status + ": " + cmp.Or(problem.Error, detail, "it says no more")
}

// Prediction is a prediction to make.
type Prediction struct {
	Path  string // below the server's URL; it ends with the id
	Input []byte // a JSON object
	// Items are those of the streamed input, which Input lacks; nil means that Input has all.
	Items  *inputs.Items
	Stream bool // ask for events
	// Item receives each output of a stream as it comes.
	Item func(output []byte)
	// Log receives the model's logs as they come. It is called by one goroutine at a time.
	Log func(text string)
	// Metric receives the event of a metric as it comes; without events, only that of progress.
	Metric func(event []byte)
}

// Answer is the result of a prediction.
type Answer struct {
	Object []byte // the prediction object
	Status string
	Error  string
	Output []byte // nil means none
	made   bool   // a prediction was made, also where the status is an error's
	logs   string
	// progress is the metric of that name, as JSON; nil means none.
	progress []byte
	// Interrupted means that the user asked for the end.
	Interrupted bool
}

// Predict makes a prediction. An interrupt cancels it. After a second one Predict returns process.ErrInterrupted at
// once.
func (c *Client) Predict(p Prediction) (Answer, error) {
	address := c.Base + p.Path
	var body io.Reader = bytes.NewReader(append(append([]byte(`{"input":`), p.Input...), '}'))
	kind := "application/json"
	if p.Items != nil {
		body, kind = p.Items.Lines(p.Input), "application/x-ndjson"
	}
	request, err := http.NewRequest(http.MethodPut, address, body)
	if err != nil {
		return Answer{}, fmt.Errorf("ask the server: %w", err)
	}
	request.Header.Set("Content-Type", kind)
	c.authorize(request)
	request.Header.Set("User-Agent", c.UserAgent)
	if p.Stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	var got Answer
	logs := remoteLogs{print: p.Log, metric: p.Metric}
	done := make(chan error, 1)
	go func() {
		var err error
		got, err = send(request, p.Item, &logs)
		logs.upTo(got.logs)
		done <- err
	}()
	poll := time.NewTimer(pollPause)
	defer poll.Stop()
	polled := make(chan struct{}, 1)
	signals := process.WatchInterrupts(false)
	var asked process.InterruptRequests
	for first := true; ; {
		select {
		case err := <-done:
			got.Interrupted = asked.Any()
			return got, err
		case <-poll.C:
			go func() {
				c.poll(address, &logs)
				polled <- struct{}{}
			}()
		case <-polled:
			poll.Reset(pollPause)
		case sig := <-signals:
			if asked.Again(sig) {
				return Answer{}, process.ErrInterrupted
			}
			if first {
				first = false
				go c.cancel(address)
			}
		}
	}
}

// poll prints what is new in the logs of a running prediction. After any error its answer has the rest.
func (c *Client) poll(address string, logs *remoteLogs) {
	if logs.areEvents.Load() {
		return
	}
	response, err := c.ask(http.MethodGet, address)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil && response.StatusCode == http.StatusOK {
		now, _ := readPrediction(body)
		logs.upTo(now.logs)
		if now.progress != nil {
			logs.metric(append(append([]byte(`{"name":"progress","value":`), now.progress...), '}'))
		}
	}
}

func (c *Client) cancel(address string) {
	response, err := c.ask(http.MethodPost, address+"/cancel")
	if err == nil { // else the prediction's answer tells, or a second interrupt ends the waiting
		response.Body.Close()
	}
}

func send(request *http.Request, item func([]byte), logs *remoteLogs) (Answer, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("ask the server: %w", err)
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		logs.areEvents.Store(true)
		return follow(response.Body, item, logs)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("read the server's answer: %w", err)
	}
	p, err := readPrediction(body)
	if response.StatusCode != http.StatusOK && (err != nil || !p.made) { // else the model says that the client is at fault
		return Answer{}, fmt.Errorf("the server refused: %s", complaint(response, body))
	}
	return p, err
}

func readPrediction(body []byte) (Answer, error) {
	var p struct {
		ID     string          `json:"id"`
		Status string          `json:"status"`
		Output json.RawMessage `json:"output"`
		Error  string          `json:"error"`
		Logs   string          `json:"logs"`

		Metrics struct {
			Progress json.RawMessage `json:"progress"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return Answer{}, fmt.Errorf("read the server's answer: %w", err)
	}
	return Answer{
		Object: body, Status: p.Status, Error: p.Error, Output: p.Output, logs: p.Logs, made: p.ID != "",
		progress: p.Metrics.Progress,
	}, nil
}

// follow reads a stream of events until the prediction has ended.
func follow(body io.Reader, item func([]byte), logs *remoteLogs) (Answer, error) {
	reader := bufio.NewReader(body)
	var event string
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return Answer{}, fmt.Errorf("read the server's stream: %w", err)
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
				return Answer{}, fmt.Errorf("read the server's stream: %w", err)
			}
			item(o.Chunk)
		case "log":
			var l struct {
				Data string `json:"data"`
			}
			if err := json.Unmarshal(data, &l); err != nil {
				return Answer{}, fmt.Errorf("read the server's stream: %w", err)
			}
			logs.add(l.Data)
		case "metric":
			logs.metric(data)
		case "completed":
			return readPrediction(data)
		case "error":
			return Answer{}, fmt.Errorf("the server's stream broke off: %s", data)
		}
	}
}
