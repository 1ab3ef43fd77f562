package conformance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
)

// receiver is a real HTTP server that takes webhooks and uploads in, and hands out files.
type receiver struct {
	url      string
	server   *httptest.Server
	released chan struct{}

	mu      sync.Mutex
	got     []message
	replies map[string][]reply // by path; the last one stays
	closed  bool
}

// message is a request that came.
type message struct {
	method, path string
	header       http.Header
	body         string
}

func (m message) String() string {
	return fmt.Sprintf("%s %s %v\n%s", m.method, m.path, m.header, m.body)
}

// reply is how a request is answered.
type reply struct {
	how     string // "", hang, cut
	code    int
	headers [][2]string
	body    string
}

func newReceiver() *receiver {
	r := &receiver{replies: map[string][]reply{}, released: make(chan struct{})}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	r.url = r.server.URL
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the server broke it off, and is to try again
	}
	with := r.take(message{request.Method, request.URL.RequestURI(), request.Header, string(body)}, request.URL.Path)
	switch with.how {
	case "hang":
		select {
		case <-r.released:
		case <-request.Context().Done():
			return
		}
	case "cut":
		w.Header().Set("Content-Length", strconv.Itoa(2*len(with.body)))
		_, _ = io.WriteString(w, with.body)
		panic(http.ErrAbortHandler) // breaks the connection off
	}
	for _, h := range with.headers {
		w.Header().Add(h[0], h[1])
	}
	w.WriteHeader(with.code)
	_, _ = io.WriteString(w, with.body) // whether it came is the server's matter
}

// take notes a message and says how it is answered.
func (r *receiver) take(m message, path string) reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	list := r.replies[path]
	if len(list) == 0 {
		return reply{code: http.StatusOK}
	}
	if len(list) > 1 {
		r.replies[path] = list[1:]
	}
	return list[0]
}

// letGo ends the hanging of what hangs.
func (r *receiver) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.released)
	}
}

// close lets all that it got be answered: what is not would come again.
func (r *receiver) close() {
	r.letGo()
	r.server.Close()
}

func (s *script) receiver(args []string) error {
	for _, name := range args {
		s.receivers[name] = newReceiver()
		s.ts.Setenv(name, s.receivers[name].url)
	}
	return nil
}

func (s *script) reply(args []string) error {
	if len(args) < 3 || s.receivers[args[0]] == nil {
		return errUsage
	}
	with := reply{code: http.StatusOK}
	if code, err := strconv.Atoi(args[2]); err == nil {
		with.code = code
	} else if with.how = args[2]; with.how != "hang" && with.how != "cut" {
		return errUsage
	}
	headers, rest := split(args[3:])
	for _, h := range headers {
		with.headers = append(with.headers, [2]string{h[0], s.text(h[1])})
	}
	if len(rest) > 0 {
		with.body = s.text(rest[0])
	}
	r := s.receivers[args[0]]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies[args[1]] = append(r.replies[args[1]], with)
	return nil
}

func (s *script) release(args []string) error {
	if len(args) != 1 || s.receivers[args[0]] == nil {
		return errUsage
	}
	s.receivers[args[0]].letGo()
	return nil
}

func (s *script) received(args []string) error {
	if len(args) < 2 || s.receivers[args[0]] == nil {
		return errUsage
	}
	r := s.receivers[args[0]]
	if args[1] == "nothing" {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.got) > 0 {
			return fmt.Errorf("it got %s", r.got[0])
		}
		return nil
	}
	if len(args) < 3 {
		return errUsage
	}
	var m message
	err := s.wait(fmt.Sprint("the receiver gets ", args[1:3]), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.got) == 0 {
			return false
		}
		m, r.got = r.got[0], r.got[1:]
		return true
	})
	if err != nil {
		return err
	}
	if m.method != args[1] || !fits(args[2], m.path) {
		return fmt.Errorf("it got %s", m)
	}
	if err := s.compare(m.header, m.body, args[3:]); err != nil {
		return fmt.Errorf("%w; it got %s", err, m)
	}
	return nil
}
