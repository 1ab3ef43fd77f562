package ipc

import (
	"encoding/json"
	"fmt"
)

// WorkerConfig is the task of a worker or preload process. It travels as JSON in the environment variable
// PINION_WORKER, or in a Fork frame; cog._worker.main reads the same document.
type WorkerConfig struct {
	Python      string `json:"python"`
	LibPython   string `json:"libpython"`
	SDK         string `json:"sdk"`
	Root        string `json:"root"`
	Ref         string `json:"ref"`
	Mode        string `json:"mode"`
	Train       string `json:"train,omitempty"` // the train function's reference
	Concurrency int    `json:"concurrency,omitempty"`
	Weights     string `json:"weights,omitempty"`
	NoCUDA      bool   `json:"no_cuda,omitempty"`
	NoWarmUp    bool   `json:"no_warm_up,omitempty"` // the model's example is not run after its setup
	// NoneDefaults is "optional" if inputs with the default None and a type without it may be null.
	NoneDefaults string `json:"none_defaults,omitempty"`
	// Tracing says how the model's own spans are sent; nil means predictions are not traced.
	Tracing *Tracing `json:"tracing,omitempty"`
	// GPULost are words of errors after which a batch is not tried again in the same process.
	GPULost []string `json:"gpu_lost,omitempty"`
	// Calls is the folder for files of calls of other models; "" if the server has no other model.
	Calls string `json:"calls,omitempty"`
	// Terminal means that the model's breakpoint() may ask on the controlling terminal.
	Terminal bool `json:"terminal,omitempty"`
	// Rank is which of Ranks processes this one is. Ranks is 0 if only the model may say that it wants several.
	Rank  int `json:"rank,omitempty"`
	Ranks int `json:"ranks,omitempty"`
	// Fetched are the weights that the front fetches; nil means none.
	Fetched *Fetched `json:"fetched,omitempty"`
	// Preload means that the process imports the model and forks workers, and serves nothing itself.
	Preload bool `json:"preload,omitempty"`
	// PreloadSetup means that a preload process also runs the model's setup.
	PreloadSetup bool `json:"preload_setup,omitempty"`
}

// Fetched are weights that the front fetches while the worker imports.
type Fetched struct {
	// Folder has a file for each, by its name, that is locked until the weights are there. Then it is JSON with their
	// path, or why they will not be there.
	Folder string   `json:"folder"`
	Wait   []string `json:"wait"` // the names that setup waits for
}

// Tracing is how the model's own OpenTelemetry spans are sent.
type Tracing struct {
	Endpoint string `json:"endpoint"`
	GRPC     bool   `json:"grpc"`    // otherwise HTTP
	Sampler  string `json:"sampler"` // OpenTelemetry's name
	Service  string `json:"service"`
	Setup    string `json:"setup,omitempty"` // traceparent of the setup
	Hooks    string `json:"hooks,omitempty"` // the file with the model's own providers, below the model's folder
}

// Encode returns the config as JSON.
func (c WorkerConfig) Encode() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode worker config: %w", err)
	}
	return text, nil
}

// ParseWorkerConfig decodes what Encode returned.
func ParseWorkerConfig(text []byte) (WorkerConfig, error) {
	return parseOnce[WorkerConfig](text, "worker config")
}

// ForkRequest is the body of a Fork frame.
type ForkRequest struct {
	Config WorkerConfig `json:"config"`
	// Env is what differs from the preload process's environment; null means not set.
	Env map[string]*string `json:"env"`
}

// SendFork asks the preload process to fork a worker.
func (c *Conn) SendFork(r ForkRequest) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode fork request: %w", err)
	}
	return c.Send(KindFork, 0, body)
}

// Preloaded is the body of a Preloaded frame.
type Preloaded struct {
	Refused      string  `json:"refused"`       // why no worker can be forked, or ""
	Imports      bool    `json:"imports"`       // only the setup is refused: workers can be forked after the import
	SetupSeconds float64 `json:"setup_seconds"` // what the setup took, if it was run
}

func ParsePreloaded(body []byte) (Preloaded, error) {
	return parseOnce[Preloaded](body, "end of a preload")
}

// Forked is the body of a Forked frame.
type Forked struct {
	PID   int    `json:"pid"`
	Error string `json:"error"` // why there is no worker
}

func ParseForked(body []byte) (Forked, error) {
	return parseOnce[Forked](body, "answer to a fork request")
}

// parseOnce decodes a message that is sent once in a process's life. It uses encoding/json, because sonic first
// compiles machine code for each type, which costs a thousand times as much as such a message.
func parseOnce[T any](body []byte, name string) (m T, err error) {
	if err = json.Unmarshal(body, &m); err != nil {
		err = fmt.Errorf("decode %s: %w", name, err)
	}
	return m, err
}
