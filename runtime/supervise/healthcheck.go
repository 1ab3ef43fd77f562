package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"pinion/ipc"
)

// checks are the health checks of the model that are not answered yet.
type checks struct {
	mu     sync.Mutex
	serial uint64
	asked  map[uint64]chan<- error
	conn   *ipc.Conn // the control channel of the ready worker, or nil
}

var errNoWorker = errors.New("no worker is ready")

// Healthcheck runs the model's health check in the worker, and returns what the check says is wrong, or ctx's error if
// that ends first. Without a ready worker it returns nil.
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
	if err := c.conn.SendHealth(c.serial); err != nil {
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

// open sets which worker is asked. Checks of an earlier one succeed, because its exit is reported anyway.
func (c *checks) open(conn *ipc.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(conn)
}

// close ends the checks of a worker, unless another worker is asked already.
func (c *checks) close(conn *ipc.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.turn(nil)
	}
}

// turn sets which worker is asked, and ends all checks of the previous one. Called with the lock held.
func (c *checks) turn(conn *ipc.Conn) {
	c.conn = conn
	for id, answer := range c.asked {
		answer <- nil
		delete(c.asked, id)
	}
}

func (c *checks) answered(id uint64, body []byte) error {
	report, err := ipc.ParseHealthy(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.asked[id]
	delete(c.asked, id)
	switch {
	case answer == nil: // nothing waits for it any more
	case report.OK:
		answer <- nil
	default:
		answer <- errors.New(report.Error)
	}
	return nil
}
