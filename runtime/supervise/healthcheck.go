package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"pinion/ipc"
)

// checks are the model's own health checks that were asked for and not answered.
type checks struct {
	mu     sync.Mutex
	serial uint64
	asked  map[uint64]chan<- error
	conn   *ipc.Conn // the control channel of the worker that is ready; nil: none is
}

// errNoWorker: there is no worker to ask.
var errNoWorker = errors.New("no worker is ready")

// Healthcheck runs the model's own check in the worker: nil, or what it says is wrong. It returns
// ctx's error where that ends first; an answer that comes later counts for nobody. Without a worker
// that is ready there is nothing to say: nil.
func (s *Supervisor) Healthcheck(ctx context.Context) error {
	answer := make(chan error, 1)
	id, err := s.checks.ask(answer)
	if errors.Is(err, errNoWorker) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask the worker for its health: %w", err)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		s.checks.forget(id)
		return ctx.Err()
	}
}

func (c *checks) ask(answer chan<- error) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return 0, errNoWorker
	}
	c.serial++
	if c.asked == nil {
		c.asked = make(map[uint64]chan<- error)
	}
	if err := c.conn.Send(ipc.KindHealth, c.serial, []byte("{}")); err != nil {
		return 0, err
	}
	c.asked[c.serial] = answer
	return c.serial, nil
}

func (c *checks) forget(id uint64) {
	c.mu.Lock()
	delete(c.asked, id)
	c.mu.Unlock()
}

// open says which worker is to be asked. What an earlier one was asked is answered by nobody: its end says
// more than its check could.
func (c *checks) open(conn *ipc.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(conn)
}

// close says that a worker is to be asked no more; another may be by now.
func (c *checks) close(conn *ipc.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.turn(nil)
	}
}

func (c *checks) turn(conn *ipc.Conn) {
	c.conn = conn
	for id, answer := range c.asked {
		answer <- nil
		delete(c.asked, id)
	}
}

// answered takes in what a worker says.
func (c *checks) answered(id uint64, body []byte) error {
	var said struct {
		OK    bool
		Error string
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return fmt.Errorf("decode health: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.asked[id]
	delete(c.asked, id)
	switch {
	case answer == nil: // nobody waits any more
	case said.OK:
		answer <- nil
	default:
		answer <- errors.New(said.Error)
	}
	return nil
}
