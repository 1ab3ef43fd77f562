package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// client is fasthttp's, which takes a third of the CPU time of net/http's: the clients share the cores with what they
// measure.
var client = &fasthttp.Client{
	MaxConnsPerHost: 4096, ReadBufferSize: 64 << 10, NoDefaultUserAgentHeader: true,
}

// do sends a request and reads its answer.
func do(method, url, body string, headers ...string) (int, []byte, error) {
	request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(answer)
	request.SetRequestURI(url)
	request.Header.SetMethod(method)
	request.Header.SetContentType("application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	request.SetBodyString(body)
	if err := client.Do(request, answer); err != nil {
		return 0, nil, err
	}
	return answer.StatusCode(), bytes.Clone(answer.Body()), nil
}

// accept creates an asynchronous prediction, and returns its id.
func accept(p *process, body string) (string, error) {
	code, text, err := do(http.MethodPost, p.url+"/predictions", body, "Prefer", "respond-async")
	if err != nil || code != http.StatusAccepted {
		return "", fmt.Errorf("accept: %d %s %w", code, text, err)
	}
	var a struct{ ID string }
	return a.ID, json.Unmarshal(text, &a)
}

// until asks for a prediction until it has a status.
func until(p *process, id, status string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		_, text, err := do(http.MethodGet, p.url+"/predictions/"+id, "")
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(`"status":"`+status+`"`)) {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s within a minute", id, status)
}

const nothing = `{"input":{}}`

// rate returns how often do succeeds in a second, by all clients, for one round.
func (b *bench) rate(do func() error) (float64, error) {
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	began := time.Now()
	for range b.clients {
		wg.Go(func() {
			for time.Since(began) < b.round && failed.Load() == nil {
				if err := do(); err != nil {
					failed.Store(&err)
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(n.Load()) / time.Since(began).Seconds(), nil
}

// direct compares synchronous requests with --nats and without.
func (b *bench) direct() error {
	sync := func(p *process) func() error {
		return func() error {
			code, text, err := do(http.MethodPost, p.url+"/predictions", nothing)
			if err == nil && code != http.StatusOK {
				err = fmt.Errorf("%d %s", code, text)
			}
			return err
		}
	}
	var ratios []float64
	for round := range 2*b.rounds + 1 {
		first, second := b.off, b.on
		if round%2 == 1 {
			first, second = second, first
		}
		rate, err := b.rate(sync(first))
		if err != nil {
			return err
		}
		two, err := b.rate(sync(second))
		if err != nil {
			return err
		}
		if round == 0 { // to warm up
			continue
		}
		if ratio := two / rate; round%2 == 1 {
			ratios = append(ratios, 1/ratio)
		} else {
			ratios = append(ratios, ratio)
		}
	}
	fmt.Printf("%-44s %.3f of the rate without\n", "synchronous requests with --nats", median(ratios))
	return nil
}

// added compares one prediction at a time through the queue with a direct one.
func (b *bench) added() error {
	var queued, direct []time.Duration
	for range 100 * b.rounds {
		began := time.Now()
		if _, _, err := do(http.MethodPost, b.on.url+"/predictions", nothing); err != nil {
			return err
		}
		direct = append(direct, time.Since(began))
		began = time.Now()
		id, err := accept(b.on, nothing)
		if err == nil {
			err = until(b.on, id, "succeeded")
		}
		if err != nil {
			return err
		}
		queued = append(queued, time.Since(began))
	}
	show("one prediction, direct", direct)
	show("one prediction, queued, until GET has its end", queued)
	return nil
}

// canceled measures a cancel at a server that does not run the prediction, half of the times, until GET there says so.
func (b *bench) canceled() error {
	var durations []time.Duration
	for range 10 * b.rounds {
		id, err := accept(b.on, `{"input":{"sleep":60}}`)
		if err == nil {
			err = until(b.on, id, "processing")
		}
		if err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond) // the model sleeps by then
		began := time.Now()
		if _, _, err := do(http.MethodPost, b.to.url+"/predictions/"+id+"/cancel", ""); err != nil {
			return err
		}
		if err := until(b.to, id, "canceled"); err != nil {
			return err
		}
		durations = append(durations, time.Since(began))
	}
	show("cancel, until GET says canceled", durations)
	return nil
}

// tokens measures how old tokens are when they arrive, directly and through both servers of the queue: one of them runs
// the job.
func (b *bench) tokens() error {
	body := fmt.Sprintf(`{"input":{"n":%d}}`, 100*b.rounds)
	direct, err := stream(http.MethodPost, b.off.url+"/predictions", body)
	if err != nil {
		return err
	}
	show("a token of a direct stream", direct)
	id, err := accept(b.on, body)
	if err != nil {
		return err
	}
	if err := until(b.on, id, "processing"); err != nil {
		return err
	}
	var both [2][]time.Duration
	var errs [2]error
	var wg sync.WaitGroup
	for i, p := range []*process{b.on, b.to} {
		wg.Go(func() { both[i], errs[i] = stream(http.MethodPut, p.url+"/predictions/"+id, body) })
	}
	wg.Wait()
	for i, name := range []string{"a token of a job at the server that took it", "the same at the other server"} {
		if errs[i] != nil {
			return errs[i]
		}
		show(name, both[i])
	}
	return nil
}

// stream follows a stream, and returns the ages of its tokens. The first tenth may be a replay.
func stream(method, url, body string) ([]time.Duration, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var ages []time.Duration
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		var token struct{ Chunk int64 }
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &token) == nil &&
			token.Chunk > 0 {
			ages = append(ages, time.Duration(time.Now().UnixNano()-token.Chunk))
		}
		if err != nil {
			break
		}
	}
	if len(ages) < 10 {
		return nil, fmt.Errorf("%s %s: only %d tokens came: %s", method, url, len(ages), answer.Status)
	}
	return ages[len(ages)/10:], nil
}
