package ipc

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Messages of the control channel, in the order in which a worker sends them.

// protocol is the version of the protocol that both sides speak.
const protocol = 1

// Hello is the body of a Hello frame.
type Hello struct {
	Protocol           int
	Python, Executable string
}

// ParseHello decodes the body of a Hello frame. The error is ErrProtocol for another version of the protocol.
func ParseHello(body []byte) (Hello, error) {
	m, err := parseOnce[Hello](body, "hello")
	if err == nil && m.Protocol != protocol {
		err = fmt.Errorf("%w: unsupported protocol version %d", ErrProtocol, m.Protocol)
	}
	return m, err
}

// Loaded is the body of a Loaded frame: what a worker reports about its model.
type Loaded struct {
	Cog   string `json:"cog"`
	Slots int    `json:"slots"`
	Async bool   `json:"async"`
	// Streaming means that the predict function returns an iterator, Train that there is a train function, Predict that
	// there is a predict function too, and Healthcheck that the model has its own check. Excused means that its types are
	// faulty, but its own schema document replaces them.
	Streaming   bool      `json:"streaming"`
	Streamed    bool      `json:"streamed"`           // it has a streamed input
	Function    string    `json:"function,omitempty"` // the name of the predict function, as "Runner.run"
	Train       bool      `json:"train"`
	Predict     bool      `json:"predict"`
	Healthcheck bool      `json:"healthcheck"`
	Excused     bool      `json:"excused"`
	NoGIL       bool      `json:"no_gil"`  // Python runs threads at once
	Isolate     bool      `json:"isolate"` // with threads: after a crash the other predictions run once more, alone
	Batch       *Batching `json:"batch"`   // nil if predictions are not batched
	// Functions are those with @cog.function, by name. Schema has the document of each.
	Functions map[string]Function `json:"functions,omitempty"`
	Schema    json.RawMessage     `json:"schema"`
	Example   json.RawMessage     `json:"example"` // inputs, as a client sends them; nil means the model gives none
	Ranks     int                 `json:"ranks"`   // of @cog.ranks; 0 means it is not there
	Python    string              `json:"-"`       // its version, from the worker's Hello
}

// Threads reports whether each slot of the worker has a thread: its function is synchronous and takes several
// predictions at once.
func (l *Loaded) Threads() bool { return !l.Async && l.Slots > 1 }

// Function is what else a worker reports about a function.
type Function struct {
	Batch *Batching `json:"batch"` // nil if its predictions are not batched
}

// OneSocket reports whether all slots of the worker share a socket: an event loop serves them, and none has batches.
func (l *Loaded) OneSocket() bool {
	for _, f := range l.Functions {
		if f.Batch != nil {
			return false
		}
	}
	return l.Async && l.Batch == nil
}

// Batching is how a model's predictions are batched.
type Batching struct {
	MaxSize   int      `json:"max_size"`
	MaxWaitMS *float64 `json:"max_wait_ms"` // nil means adaptive
	Isolate   bool     `json:"isolate"`
	Keys      []string `json:"keys"`    // the inputs that are equal within a batch
	Prepare   bool     `json:"prepare"` // it has a preprocess
}

func ParseLoaded(body []byte) (Loaded, error) {
	m, err := parseOnce[Loaded](body, "loaded")
	if err == nil && (m.Slots < 1 || m.Slots > MaxSlots) {
		err = fmt.Errorf("a concurrency of %d is out of bounds: 1 to %d", m.Slots, MaxSlots)
	}
	return m, err
}

// Ready is the body of a Ready frame.
type Ready struct {
	Seconds float64 // how long setup took
	LogMark
}

func ParseReady(body []byte) (Ready, error) { return parseOnce[Ready](body, "ready") }

// SetupFailed is the body of a SetupFailed frame.
type SetupFailed struct {
	Error string
	LogMark
	Problem *Problem
}

func ParseSetupFailed(body []byte) (SetupFailed, error) {
	return parseOnce[SetupFailed](body, "setup failure")
}

// Problem is why a model cannot be set up, as `pinion check` reports it.
type Problem struct {
	File      string `json:"file"` // below the model's folder; "" means it is about no file
	Line      int    `json:"line"`
	What      string `json:"what"`
	Fix       string `json:"fix"`       // what to do about it; "" if unknown
	Traceback string `json:"traceback"` // of an exception of the model's own; "" means there is none
}

// Text returns the problem as it is in the setup's logs, without a newline at its end.
func (p *Problem) Text() string {
	if p.Traceback != "" {
		return strings.TrimSuffix(p.Traceback, "\n")
	}
	text := p.What
	if p.File != "" {
		text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	}
	if p.Fix != "" {
		text += "; " + p.Fix
	}
	return text
}

// ParseCUDA decodes the body of a CUDA frame: the report of pyembed/cuda.
func ParseCUDA(body []byte) (map[string]any, error) {
	return parseOnce[map[string]any](body, "CUDA report")
}

// SendHealth asks for the model's own check; the answer is a Healthy frame with that id.
func (c *Conn) SendHealth(id uint64) error { return c.Send(KindHealth, id, emptyObject) }

// StackID returns the id of an AskStack frame: the front's serial number, and the slot's index.
func StackID(serial uint64, slot int) uint64 { return serial*stackSlots + uint64(slot) }

const stackSlots = 1024 // more than a worker may have

// ParseStacks returns the text of a Stacks frame.
func ParseStacks(body []byte) (string, error) {
	stacks, err := parseOnce[struct{ Text string }](body, "stacks")
	return stacks.Text, err
}

// Healthy is the body of a Healthy frame.
type Healthy struct {
	OK    bool
	Error string
}

func ParseHealthy(body []byte) (Healthy, error) { return parseOnce[Healthy](body, "health") }

// SendShutdown asks the worker to finish its predictions, and to exit.
func (c *Conn) SendShutdown() error { return c.Send(KindShutdown, 0, emptyObject) }

var emptyObject = []byte("{}")
