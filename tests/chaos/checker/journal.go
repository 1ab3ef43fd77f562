package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// entry is a line of the journal. What is what:
//
//	ask     a request leaves its client: id, token, mode, do, pad, items, says, hook, file, key, wait
//	answer  what was answered: code, and status, output, length, error, logs, batch, took where it is a prediction
//	broken  the connection ended without an answer: error
//	left    the client closes its connection, and wants no answer
//	cancel  the client asks for the end
//	hook    a webhook came: as answer, and taken where the receiver took it in
//	look    a client asked for the prediction by its id: as answer
//	harm    a process is about to be harmed from outside: pid, how
//	mended  what was stopped goes on, or has been replaced: pid
//	full    the disk is full from now on; until empty
//	removed the folder of temporary files is removed; until remade
type entry struct {
	At     int64           `json:"at"` // nanoseconds of the monotonic clock, which all processes share
	What   string          `json:"what"`
	ID     string          `json:"id"`
	Token  string          `json:"token"`
	Mode   string          `json:"mode"`
	Do     string          `json:"do"`
	Pad    int             `json:"pad"`
	Items  int             `json:"items"` // of a list, without the last; -1 means the output is not a list
	Says   bool            `json:"says"`
	Hook   bool            `json:"hook"`
	File   bool            `json:"file"`
	Key    int             `json:"key"`   // a batch has one
	Batch  int             `json:"batch"` // the size of its batch, as the answer says
	Wait   float64         `json:"wait"`  // seconds that the model sleeps over it
	Took   *float64        `json:"took"`  // seconds that the model had it, as the answer says
	Code   int             `json:"code"`
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"` // left out where it is long
	Length int             `json:"length"` // of the output, in bytes
	Head   string          `json:"head"`   // its begin, where it is left out
	Error  string          `json:"error"`
	Logs   string          `json:"logs"`
	Taken  bool            `json:"taken"`
	PID    int             `json:"pid"`
	How    string          `json:"how"`
}

// prediction is all that is known of one prediction.
type prediction struct {
	id       string
	asked    *entry
	observed []*entry // answers, hooks and looks, in the order in which they came
	left     bool
	cancel   bool
	broken   string
	runs     []run   // or batches
	done     []int   // the processes that did it
	harms    []int   // the processes that it harmed, also before it was begun and after it was done
	calls    []*call // in which the model had it together with others
}

// run is one run of a prediction by the model.
type run struct {
	pid int
	at  int64
}

// last returns the last run of the prediction; pid 0 means that it never ran.
func (p *prediction) last() run {
	if len(p.runs) == 0 {
		return run{}
	}
	return p.runs[len(p.runs)-1]
}

// span is a period of time.
type span struct{ from, to int64 }

// far is the end of a span that did not end.
const far = int64(1) << 62

// harms is what was done to a process.
type harms struct {
	outside bool  // a signal, as the journal has it
	rubbish bool  // it may have written what hides its answers
	own     bool  // the model did it
	cries   bool  // and Python writes what it did, or the SDK that nothing else goes on
	dumped  int64 // when a signal from outside came at which Python writes what it did; 0 means none
	at      int64 // when the model did it
	until   int64 // when the last prediction was answered that did it, or failed with it
}

// exhaustion is when a prediction began to take all memory.
type exhaustion struct {
	by *prediction
	at int64
}

// span returns the time from then until haste after its worker died of it, which on a busy machine is seconds later.
func (x exhaustion) span() span {
	died := x.at
	if end := x.by.end(); end != nil {
		died = max(died, end.At)
	}
	return span{x.at, died + haste}
}

// record is what the two files say.
type record struct {
	predictions map[string]*prediction // by id
	order       []*prediction          // as they were asked for
	tokens      map[string]*prediction
	calls       []*call // in the order in which they began
	harmed      map[int]*harms
	stopped     []span
	full        []span
	removed     []span
	exhaustions []exhaustion
	exhausted   []span   // in which a worker took all memory, and what the kernel may do about it
	foreign     []string // tokens of those that were handed another's file
	unknown     []string // tokens in the ledger that no client asked for
}

func (r *record) harm(pid int) *harms {
	if r.harmed[pid] == nil {
		r.harmed[pid] = &harms{}
	}
	return r.harmed[pid]
}

// read reads the two files.
func read(journal, ledger string) (*record, error) {
	r := &record{predictions: map[string]*prediction{}, tokens: map[string]*prediction{}, harmed: map[int]*harms{}}
	if err := eachLine(journal, r.journal()); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if err := eachLine(ledger, r.ledger); err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	for _, x := range r.exhaustions {
		r.exhausted = append(r.exhausted, x.span())
	}
	return r, nil
}

// eachLine calls take with every line of a file.
func eachLine(name string, take func(line []byte) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d has no end: %w", n, err)
		}
		if err := take(line[:len(line)-1]); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// journal returns the function that reads a line of the journal.
func (r *record) journal() func([]byte) error {
	stops := map[int][]int{} // by process: indices in stopped
	return func(line []byte) error {
		e := &entry{}
		if err := json.Unmarshal(line, e); err != nil {
			return err
		}
		switch e.What {
		case "ask":
			if r.predictions[e.ID] != nil || r.tokens[e.Token] != nil {
				return fmt.Errorf("%s is asked for twice", e.ID)
			}
			p := &prediction{id: e.ID, asked: e}
			r.predictions[e.ID], r.tokens[e.Token] = p, p
			r.order = append(r.order, p)
			return nil
		case "harm":
			r.harm(e.PID).outside = true
			switch e.How {
			case "segmentation fault":
				r.harm(e.PID).dumped = e.At
			case "stopped":
				stops[e.PID] = append(stops[e.PID], len(r.stopped))
				r.stopped = append(r.stopped, span{e.At, far})
			}
			return nil
		case "mended":
			if open := stops[e.PID]; len(open) > 0 { // the first stop's end comes first, or both are over
				r.stopped[open[0]].to = e.At
				stops[e.PID] = open[1:]
			}
			return nil
		case "full":
			r.full = append(r.full, span{e.At, far})
			return nil
		case "empty":
			r.full[len(r.full)-1].to = e.At
			return nil
		case "removed":
			r.removed = append(r.removed, span{e.At, far})
			return nil
		case "remade":
			r.removed[len(r.removed)-1].to = e.At
			return nil
		}
		p := r.predictions[e.ID]
		if p == nil {
			return fmt.Errorf("no client asked for %q", e.ID)
		}
		switch e.What {
		case "answer", "hook", "look":
			p.observed = append(p.observed, e)
		case "broken":
			p.broken = e.Error
		case "left":
			p.left = true
		case "cancel":
			p.cancel = true
		default:
			return fmt.Errorf("%q is not an entry", e.What)
		}
		return nil
	}
}

// ledger reads a line of the model's ledger.
func (r *record) ledger(line []byte) error {
	f := strings.Fields(string(line))
	if len(f) < 3 {
		return fmt.Errorf("%q is not an entry", line)
	}
	pid, err := strconv.Atoi(f[2])
	if err != nil {
		return fmt.Errorf("read process: %w", err)
	}
	switch f[0] {
	case "batch", "raised", "ended":
		return r.together(f, pid)
	}
	p := r.tokens[f[1]]
	if p == nil {
		r.unknown = append(r.unknown, f[1])
		return nil
	}
	at := int64(0)
	if len(f) > 3 {
		if at, err = strconv.ParseInt(f[3], 10, 64); err != nil {
			return fmt.Errorf("read time: %w", err)
		}
	}
	switch {
	case f[0] == "begun" && len(f) == 4:
		p.runs = append(p.runs, run{pid, at})
	case f[0] == "done":
		p.done = append(p.done, pid)
	case f[0] == "foreign":
		r.foreign = append(r.foreign, f[1])
	case f[0] == "harm" && len(f) == 5:
		h := r.harm(pid)
		h.own, h.at = true, at
		p.harms = append(p.harms, pid)
		h.rubbish = h.rubbish || spoils(f[4])
		h.cries = h.cries || cries(f[4])
		if f[4] == "exhaust" {
			r.exhaustions = append(r.exhaustions, exhaustion{p, at})
		}
	default:
		return fmt.Errorf("%q is not an entry", line)
	}
	return nil
}

// cries reports whether a harm leaves text in the logs that is not the model's.
func cries(how string) bool {
	switch how {
	case "segv", "abort", "exhaust", "close_all":
		return true
	}
	return false
}

// spoils reports whether a harm leaves the process running, while its answers no longer arrive.
func spoils(how string) bool {
	switch how {
	case "rubbish", "forged", "oversized", "cut_off", "close_sockets", "shut_sockets":
		return true
	}
	return false
}
