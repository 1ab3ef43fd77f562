package ipc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bytedance/sonic"
)

// Messages of a slot's channel.

var (
	openInput   = []byte(`{"input":`)
	nextContext = []byte(`,"context":`)
	nextFiles   = []byte(`,"files":`)
	nextName    = []byte(`,"function":`)
	openMetrics = []byte(`{"metrics":`)
	nextOutput  = []byte(`,"output":`)
	nextError   = []byte(`,"error":`)
	closeBrace  = []byte(`}`)
)

// QueuePredict queues a Predict frame. input, in parts, and context are JSON objects; files is the result of
// FilesMember, or nil; function is a name as JSON, with FlagFunction, or nil. They must not change until the other side has read them: see Send. create makes the file of a
// large body: see QueueIn. shared, if not nil, goes with the frame; large tensors of input that are in it are not sent.
func (c *Conn) QueuePredict(
	id uint64, flags uint8, create func(size int64) (*os.File, error), shared *SharedFile,
	context, files, function []byte, input ...[]byte,
) error {
	parts := append(append(make([][]byte, 0, 7), openInput), input...)
	if context != nil {
		parts = append(parts, nextContext, context)
	}
	if files != nil {
		parts = append(parts, nextFiles, files)
	}
	if function != nil {
		parts = append(parts, nextName, function)
		flags |= FlagFunction
	}
	parts = append(parts, closeBrace)
	if shared != nil && !c.group {
		referring := shared.refer(parts)
		if size := sizeOf(referring); size <= InlineMax {
			if fd, err := shared.duplicate(); err == nil {
				return c.write.enqueue(fd, KindPredict, flags|FlagFile, id, uint64(shared.Room), size, referring)
			}
		}
	}
	if shared != nil {
		parts = shared.copied(parts)
	}
	return c.QueueIn(create, KindPredict, flags, id, parts...)
}

// FilesMember returns the member "files" of a request whose output files the front reads from that folder. tensors
// means that the output may have arrays in binary.
func FilesMember(folder, token string, tensors bool) []byte {
	member, _ := json.Marshal(struct { // never fails
		Folder  string `json:"folder"`
		Token   string `json:"token"`
		Tensors bool   `json:"tensors,omitempty"`
	}{folder, token, tensors})
	return member
}

// TensorsMember returns the member "files" of a request whose output may have arrays in binary.
func TensorsMember() []byte { return []byte(`{"tensors":true}`) }

// IDs returns the body of a Batch or Drop frame.
func IDs(ids ...uint64) []byte {
	body := append(make([]byte, 0, 16+20*len(ids)), `{"ids":[`...)
	for i, id := range ids {
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendUint(body, id, 10)
	}
	return append(body, `]}`...)
}

// BatchOf returns the body of a Batch frame. context is the JSON object that the model finds in its scope, or nil.
func BatchOf(context []byte, ids ...uint64) []byte {
	body := IDs(ids...)
	if context == nil {
		return body
	}
	body = append(body[:len(body)-1], nextContext...)
	return append(append(body, context...), '}')
}

// LogMark is the body of a LogMark frame: how much was ever written to a worker's log pipes, and to those of the
// running prediction. All output up to there belongs to the frame's prediction.
type LogMark struct {
	Stdout    uint64 `json:"stdout"`
	Stderr    uint64 `json:"stderr"`
	OwnStdout uint64 `json:"own_stdout"`
	OwnStderr uint64 `json:"own_stderr"`
}

func ParseLogMark(body []byte) (LogMark, error) { return parse[LogMark](body, "log mark") }

// Log is the body of a Log frame.
type Log struct {
	Source string // "stdout" or "stderr"
	Data   string
	Record *LogRecord // nil means that it is lines
}

// LogRecord says that a text is one record of the server's log. In a LogRecord frame, From and To are its place in a
// pipe: 0 and 1 are stdout and stderr, 2 and 3 those of the running prediction.
type LogRecord struct {
	Pipe   int    `json:"pipe"`
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Level  int    `json:"level"` // of Python's logging: 10 is debug, 40 error
	Logger string `json:"logger"`
}

func ParseLogRecord(body []byte) (LogRecord, error) { return parse[LogRecord](body, "log record") }

func ParseLog(body []byte) (Log, error) { return parse[Log](body, "log") }

// Traced is when the model got a prediction, and how long its input took to prepare.
type Traced struct {
	Began    int64 // in nanoseconds since 1970
	Prepared time.Duration
}

func ParseTraced(f *Frame) (Traced, error) {
	n, err := strconv.ParseUint(string(f.Body), 10, 63)
	if err != nil {
		return Traced{}, fmt.Errorf("decode times: %w", err)
	}
	return Traced{int64(f.Nanos), time.Duration(n)}, nil
}

// BatchDone is the body of a BatchDone frame.
type BatchDone struct {
	Runs   int // how often the function was called
	Failed bool
}

func ParseBatchDone(body []byte) (BatchDone, error) { return parse[BatchDone](body, "end of a batch") }

// Answer is the body of a frame that ends a prediction. Each member is JSON.
type Answer struct {
	Metrics []byte
	Output  []byte // nil means there is none, or it was sent in Output frames
	Error   []byte // of a Failed frame: a string, or the object of a ClientFault
}

// ClientFault is the error of a Failed frame where what the client sent is at fault.
type ClientFault struct {
	Text   string `json:"text"`
	Status int    `json:"status"` // 400 to 499; 0 means what each protocol has for a bad input
	Code   string `json:"code"`   // for programs; "" means there is none
}

// ParseClientFault reads the error of an Answer that is an object.
func ParseClientFault(body []byte) (ClientFault, error) {
	return parse[ClientFault](body, "fault of a client")
}

// ParseAnswer takes apart the body of a frame of that kind; false means no worker sends it. The worker writes metrics
// first and no space, so an output of any size is not looked at.
func ParseAnswer(kind Kind, body []byte) (a Answer, ok bool) {
	rest, opened := bytes.CutPrefix(body, openMetrics)
	rest, closed := bytes.CutSuffix(rest, closeBrace)
	end := objectEnd(rest)
	if !opened || !closed || end < 0 {
		return a, false
	}
	a.Metrics, rest = rest[:end], rest[end:]
	switch {
	case kind == KindFailed:
		a.Error, ok = bytes.CutPrefix(rest, nextError)
		ok = ok && len(a.Error) >= 2 && (a.Error[0] == '"' && a.Error[len(a.Error)-1] == '"' || a.Error[0] == '{')
	case kind == KindSucceeded && len(rest) > 0:
		a.Output, ok = bytes.CutPrefix(rest, nextOutput)
		ok = ok && len(a.Output) > 0
	default:
		ok = len(rest) == 0
	}
	return a, ok
}

// objectEnd returns the length of the JSON object that b begins with, or -1.
func objectEnd(b []byte) int {
	for i, depth := 0, 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		if depth == 0 {
			return -1
		}
	}
	return -1
}

// FailureText returns the error in the body of a Failed frame, not decoded; nil if there is none. Quotes within the
// metrics before it are escaped.
func FailureText(body []byte) []byte {
	_, text, _ := bytes.Cut(body, []byte(`,"error":"`))
	return text
}

// FailureError returns the error in the body of a Failed frame, decoded; "" where there is none.
func FailureError(body []byte) string {
	m, err := parse[struct{ Error string }](body, "failure")
	if err != nil {
		return ""
	}
	return m.Error
}

// parse decodes a message that may come with each prediction.
func parse[T any](body []byte, name string) (m T, err error) {
	if err = sonic.Unmarshal(body, &m); err != nil {
		err = fmt.Errorf("decode %s: %w", name, err)
	}
	return m, err
}
