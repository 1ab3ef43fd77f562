package harness

import (
	"encoding/json"
	"fmt"
	"net/http"

	"pinion/tests/assert"
)

// Health is the health document.
type Health struct {
	Status string `json:"status"`
	Setup  struct {
		StartedAt   string `json:"started_at"`
		CompletedAt string `json:"completed_at"`
		Status      string `json:"status"`
		Logs        string `json:"logs"`

		Seconds  float64 `json:"seconds"`
		LastLine string  `json:"last_line"`
		Percent  *int    `json:"percent"`
	} `json:"setup"`
	Version map[string]string `json:"version"`
	Workers []struct {
		PID      int    `json:"pid"`
		State    string `json:"state"`
		LastExit string `json:"last_exit"`
		// NextStart is when the next process is tried after failures.
		NextStart string `json:"next_start"`
		Restarts  int    `json:"restarts"`

		Device      string `json:"device"`
		Busy        int    `json:"busy"`
		BusySince   string `json:"busy_since"`
		Served      int    `json:"served"`
		MemoryBytes int64  `json:"memory_bytes"`
		Successor   string `json:"successor"`
		Ranks       []struct {
			Rank        int    `json:"rank"`
			PID         int    `json:"pid"`
			MemoryBytes int64  `json:"memory_bytes"`
			Device      string `json:"device"`
		} `json:"ranks"`
	} `json:"workers"`
	Queue *struct {
		Length   int `json:"length"`
		Capacity int `json:"capacity"`
	} `json:"queue"`
	Memory struct {
		UsedBytes  int64 `json:"used_bytes"`
		LimitBytes int64 `json:"limit_bytes"`
		Evictions  int64 `json:"evictions"`
	} `json:"memory"`
	Connections struct {
		Open    int    `json:"open"`
		Limit   int    `json:"limit"`
		Evicted uint64 `json:"evicted"`
		Refused uint64 `json:"refused"`
	} `json:"connections"`
	Preload *Preload `json:"preload"`
}

// Preload is what health says of the preload process.
type Preload struct {
	State  string `json:"state"`
	PID    int    `json:"pid"`
	Setup  bool   `json:"setup"`
	Reason string `json:"reason"`
	Forked int    `json:"forked"`
}

// Health asks for the health document.
func (s *Server) Health() Health {
	s.t.Helper()
	h, err := s.health()
	assert.NoError(s.t, err, "ask for health")
	return h
}

func (s *Server) health() (Health, error) {
	var h Health
	a := s.Do(http.MethodGet, "/health-check", nil)
	if a.Err != nil {
		return h, a.Err
	}
	if a.Code != http.StatusOK {
		return h, fmt.Errorf("status code %d", a.Code)
	}
	return h, json.Unmarshal(a.Body, &h)
}

// WaitHealth waits until the health has this status.
func (s *Server) WaitHealth(status string) Health {
	s.t.Helper()
	var last Health
	assert.NoError(s.t, until(func() bool {
		if h, err := s.health(); err == nil {
			last = h
		}
		return last.Status == status || s.hasExited()
	}))
	assert.EqualNow(s.t, "status", last.Status, status)
	return last
}

// Worker returns the process of the first worker.
func (s *Server) Worker() int {
	s.t.Helper()
	h := s.Health()
	assert.TrueNow(s.t, len(h.Workers) != 0 && h.Workers[0].PID != 0,
		"there is no worker: %+v, want len(Workers) non-empty and PID not 0", h)
	return h.Workers[0].PID
}

// WaitLog waits until the server's log has a line with this text, such as one that the model printed.
func (s *Server) WaitLog(text string) Line {
	s.t.Helper()
	var line Line
	err := until(func() bool {
		var ok bool
		line, ok = s.Log.Find(text)
		return ok || s.hasExited()
	})
	assert.TrueNow(s.t, err == nil && line.Text == text,
		"the log has no line %q: got %.300q, want %q", text, line.Text, text)
	return line
}

// Worker0 returns the process of the first worker, or 0 while there is none.
func (s *Server) Worker0() int {
	if h, err := s.health(); err == nil && len(h.Workers) > 0 {
		return h.Workers[0].PID
	}
	return 0
}
