package conformance

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// event reads the next event of a stream: NAME TYPE [has] DATA, or NAME closed.
func (s *script) event(args []string) error {
	if len(args) < 2 || s.channels[args[0]] == nil {
		return errUsage
	}
	c := s.channels[args[0]]
	if c.stream == nil {
		a, err := c.read()
		if err != nil {
			return err
		}
		if c.stream == nil {
			return fmt.Errorf("not a stream: %s", a)
		}
	}
	if args[1] == "begun" {
		return nil
	}
	kind, data, err := c.next()
	switch {
	case args[1] == "closed" && errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("read an event: %w", err)
	case kind != args[1]:
		return fmt.Errorf("it is %s %s", kind, data)
	}
	if err := s.compare(nil, data, args[2:]); err != nil {
		return fmt.Errorf("%w; its data is %s", err, data)
	}
	return nil
}

// next reads an event. Comments are left out.
func (c *channel) next() (kind, data string, err error) {
	for {
		line, err := c.stream.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "event":
			kind = value
		case name == "data":
			data = value
		case line == "\n" && kind != "":
			return kind, data, nil
		case line != "\n" && !strings.HasPrefix(line, ":"):
			return "", "", fmt.Errorf("a line of a stream is %q", line)
		}
	}
}
