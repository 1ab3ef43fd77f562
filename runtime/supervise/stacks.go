package supervise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pinion/ipc"
)

// The fault handler writes the stack of the thread that runs a prediction, even one that waits in C. Python reports
// the tasks and other threads, on its main thread. If that is deep in C code, there is no report.
const (
	stackTimeout  = 6 * time.Second
	stacksTimeout = 2 * time.Second
)

var errNoStack = errors.New("the worker did not answer with a stack: its thread takes no signals, or the process is stopped")

// stacks receives the answers to the request for a stack that is in progress.
type stacks struct {
	turn    chan struct{} // holds a token while a request is in progress; its holder owns serial
	serial  uint64
	answers chan stackPart
}

type stackPart struct {
	id   uint64 // of the request
	rest bool   // about tasks and other threads
	text string
}

func newStacks() stacks {
	return stacks{turn: make(chan struct{}, 1), answers: make(chan stackPart, 2)}
}

// Stack asks the worker what a slot runs. There is one request at a time; others wait for their turn.
func (p *process) Stack(ctx context.Context, slot int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stackTimeout)
	defer cancel()
	select {
	case p.stacks.turn <- struct{}{}:
		defer func() { <-p.stacks.turn }()
	case <-ctx.Done():
		return "", errNoStack
	}
	p.stacks.discard()
	p.stacks.serial++
	id := ipc.StackID(p.stacks.serial, slot)
	if err := p.control.Send(ipc.KindAskStack, id); err != nil {
		return "", fmt.Errorf("ask the worker for a stack: %w", err)
	}
	text, err := p.stacks.await(ctx, p, id, false)
	if err != nil || p.threads.Load() {
		return modelLines(text), err
	}
	rest, stop := context.WithTimeout(ctx, stacksTimeout)
	defer stop()
	more, _ := p.stacks.await(rest, p, id, true) // without a report of Python there is no more
	if strings.HasPrefix(more, "Task") {
		return more + "\nEvent loop:\n" + modelLines(text), nil
	}
	return modelLines(text) + more, nil
}

// modelLines leaves out the lines of the cog package that serves the model.
func modelLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "/cog/_worker/") && !strings.HasPrefix(line, `  File "<string>"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// discard drops the answers to a request that was given up.
func (s *stacks) discard() {
	for len(s.answers) > 0 {
		<-s.answers
	}
}

// await returns one part of the answer.
func (s *stacks) await(ctx context.Context, p *process, id uint64, rest bool) (string, error) {
	for {
		select {
		case part := <-s.answers:
			if part.id == id && part.rest == rest {
				if part.text == "" && !rest {
					return "", errNoStack
				}
				return part.text, nil
			}
		case <-p.child.exited:
			return "", errors.New("the worker has ended")
		case <-ctx.Done():
			return "", errNoStack
		}
	}
}

// take accepts an answer of the worker.
func (s *stacks) take(m message) error {
	if m.kind == ipc.KindStack {
		s.answered(stackPart{id: m.id, text: strings.ToValidUTF8(string(m.body), "\uFFFD")})
		return nil
	}
	text, err := ipc.ParseStacks(m.body)
	if err == nil {
		s.answered(stackPart{id: m.id, rest: true, text: text})
	}
	return err
}

// answered accepts one part, unless no request waits for it any more.
func (s *stacks) answered(part stackPart) {
	select {
	case s.answers <- part:
	default:
	}
}
