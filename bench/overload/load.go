package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// load asks.
type load struct {
	client *http.Client
	url    string
	body   []byte
}

func newLoad(s setting, places int) *load {
	return &load{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16 * places}},
		url:    "http://" + s.address,
		body:   fmt.Appendf(nil, `{"input":{"seconds":%g}}`, s.takes.Seconds()),
	}
}

// ready waits until every worker is.
func (l *load) ready() error {
	ctx, giveUp := context.WithTimeout(context.Background(), time.Minute)
	defer giveUp()
	for {
		if l.allReady() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the workers: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (l *load) allReady() bool {
	response, err := l.client.Get(l.url + "/health-check")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var health struct {
		Workers []struct{ State string }
	}
	if json.NewDecoder(response.Body).Decode(&health) != nil || len(health.Workers) == 0 {
		return false
	}
	for _, w := range health.Workers {
		if w.State != "ready" {
			return false
		}
	}
	return true
}

// ask asks once. Answers that come after the end of the part do not count for its rate.
func (l *load) ask(t *tally, end time.Time) {
	begin := time.Now()
	response, err := l.client.Post(l.url+"/predictions", "application/json", bytes.NewReader(l.body))
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	took := time.Since(begin)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	switch {
	case err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusTooManyRequests:
		t.failed++
	case response.StatusCode == http.StatusTooManyRequests:
		t.refused = append(t.refused, took)
	case begin.Add(took).Before(end):
		t.accepted = append(t.accepted, took)
	}
}

// closed has n clients ask, each when it was answered.
func (l *load) closed(n int, length time.Duration) *tally {
	t := &tally{length: length}
	end := time.Now().Add(length)
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() {
			for time.Now().Before(end) {
				l.ask(t, end)
			}
		})
	}
	clients.Wait()
	return t
}

// open asks by the clock, so often a second.
func (l *load) open(rate float64, length time.Duration) *tally {
	t := &tally{length: length}
	begin := time.Now()
	end := begin.Add(length)
	var requests sync.WaitGroup
	for n := 0; ; n++ {
		due := begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if due.After(end) {
			break
		}
		time.Sleep(time.Until(due))
		requests.Go(func() { l.ask(t, end) })
	}
	requests.Wait()
	return t
}
