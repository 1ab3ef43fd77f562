package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// channel is one connection.
type channel struct {
	conn    net.Conn
	reader  *bufio.Reader
	methods []string // of the requests that are not answered
	stream  *bufio.Reader
}

// answer is what came back.
type answer struct {
	code   int
	header http.Header
	body   string
}

func (a answer) String() string { return fmt.Sprintf("%d %v\n%s", a.code, a.header, a.body) }

// isHeader tells a header from a body.
var isHeader = regexp.MustCompile(`^[A-Z][A-Za-z0-9-]*:`)

// split takes arguments apart into headers and the rest.
func split(args []string) (headers [][2]string, rest []string) {
	for _, arg := range args {
		if isHeader.MatchString(arg) && len(rest) == 0 {
			name, value, _ := strings.Cut(arg, ":")
			headers = append(headers, [2]string{name, strings.TrimSpace(value)})
		} else {
			rest = append(rest, arg)
		}
	}
	return headers, rest
}

// text is what an argument means: itself, with the receivers' URLs in it, or a file of the script.
func (s *script) text(arg string) string {
	if name, isFile := strings.CutPrefix(arg, "@"); isFile {
		arg = strings.TrimSuffix(s.ts.ReadFile(name), "\n")
	}
	for name, r := range s.receivers {
		arg = strings.ReplaceAll(arg, "$"+name, r.url)
	}
	return arg
}

func (s *script) dial() (*channel, error) {
	network, address := "tcp", strings.TrimPrefix(s.server.Address, "http://")
	if path, isUnix := strings.CutPrefix(s.server.Address, "unix:"); isUnix {
		network, address = "unix", path
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil { // a request that hangs fails its script
		return nil, err
	}
	return &channel{conn: conn, reader: bufio.NewReader(conn)}, nil
}

// send writes a request: METHOD PATH [HEADER…] [BODY].
func (s *script) send(c *channel, args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	headers, rest := split(args[2:])
	if len(rest) > 1 {
		return fmt.Errorf("more than one body: %q", rest)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: pinion\r\n", args[0], args[1])
	typed := false
	for _, h := range headers {
		if typed = typed || h[0] == "Content-Type"; h[1] != "" {
			fmt.Fprintf(&out, "%s: %s\r\n", h[0], s.text(h[1]))
		}
	}
	body := ""
	if len(rest) == 1 {
		if body = s.text(rest[0]); !typed {
			out.WriteString("Content-Type: application/json\r\n")
		}
		fmt.Fprintf(&out, "Content-Length: %d\r\n", len(body))
	}
	out.WriteString("\r\n" + body)
	c.methods = append(c.methods, args[0])
	_, err := io.WriteString(c.conn, out.String())
	return err
}

// read reads the next answer. That of a stream has no body: event reads on.
func (c *channel) read() (answer, error) {
	request := &http.Request{Method: http.MethodGet}
	if len(c.methods) > 0 {
		request.Method, c.methods = c.methods[0], c.methods[1:]
	}
	response, err := http.ReadResponse(c.reader, request)
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	a := answer{code: response.StatusCode, header: response.Header}
	if response.Header.Get("Content-Type") == "text/event-stream" {
		c.stream = bufio.NewReader(response.Body)
		return a, nil
	}
	body, err := io.ReadAll(response.Body)
	a.body = string(body)
	return a, err
}

func (s *script) request(args []string) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.conn.Close()
	if err := s.send(c, args); err != nil {
		return err
	}
	if s.answer, err = c.read(); err != nil || c.stream == nil {
		return err
	}
	body, err := io.ReadAll(c.stream) // a whole stream as text
	s.answer.body = string(body)
	return err
}

func (s *script) expect(args []string) error {
	if err := s.matches(s.answer, args); err != nil {
		return fmt.Errorf("%w; the answer is %s", err, s.answer)
	}
	return nil
}

// matches compares an answer with CODE [HEADER…] [[has] BODY].
func (s *script) matches(a answer, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	if code, err := strconv.Atoi(args[0]); err != nil || code != a.code {
		return fmt.Errorf("it is not %s", args[0])
	}
	return s.compare(a.header, a.body, args[1:])
}

// compare compares what came with [HEADER…] [[has] BODY].
func (s *script) compare(header http.Header, body string, args []string) error {
	headers, rest := split(args)
	for _, h := range headers {
		if got := strings.Join(header.Values(h[0]), ", "); !fits(s.text(h[1]), got) {
			return fmt.Errorf("its header %s is %q, not %q", h[0], got, h[1])
		}
	}
	switch {
	case len(rest) == 0:
		return nil
	case len(rest) == 2 && rest[0] == "has":
		return has(s.text(rest[1]), body)
	case len(rest) != 1:
		return errUsage
	case !fits(s.text(rest[0]), body):
		return fmt.Errorf("it is not %s", s.text(rest[0]))
	}
	return nil
}

// channel makes the connection of that name, or finds it.
func (s *script) channel(name string) (*channel, error) {
	if c := s.channels[name]; c != nil {
		return c, nil
	}
	c, err := s.dial()
	if err == nil {
		s.channels[name] = c
	}
	return c, err
}

func (s *script) begin(args []string) error {
	if len(args) < 3 {
		return errUsage
	}
	c, err := s.channel(args[0])
	if err != nil {
		return err
	}
	return s.send(c, args[1:])
}

func (s *script) raw(args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	c, err := s.channel(args[0])
	if err != nil {
		return err
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	if err != nil {
		return fmt.Errorf("read %s: %w", args[1], err)
	}
	_, err = io.WriteString(c.conn, text)
	return err
}

func (s *script) end(args []string) error {
	if len(args) < 2 || s.channels[args[0]] == nil {
		return errUsage
	}
	c := s.channels[args[0]]
	if args[1] == "closed" {
		if rest, err := io.ReadAll(c.reader); err != nil || len(rest) > 0 {
			return fmt.Errorf("the server did not close the connection: %q, %w", rest, err)
		}
		return nil
	}
	a, err := c.read()
	if err != nil {
		return err
	}
	if err := s.matches(a, args[1:]); err != nil {
		return fmt.Errorf("%w; the answer is %s", err, a)
	}
	return nil
}

func (s *script) drop(args []string) error {
	if len(args) != 1 || s.channels[args[0]] == nil {
		return errUsage
	}
	c := s.channels[args[0]]
	delete(s.channels, args[0])
	return c.conn.Close()
}

func (s *script) until(args []string) error {
	if len(args) < 3 {
		return errUsage
	}
	var last error
	err := s.wait("", func() bool {
		if last = s.request(args[:2]); last == nil {
			last = s.matches(s.answer, args[2:])
		}
		return last == nil
	})
	if err != nil {
		return fmt.Errorf("%w%w; the last answer was %s", err, last, s.answer)
	}
	return nil
}
