package protocols

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// The real ventu 0.4.5 as worker of `pinion batching`: the whole list of what must be compatible.

// ventuPython is an interpreter with ventu.
func ventuPython(t testing.TB) string {
	t.Helper()
	harness.AnyPython(t) // ventu brings its own
	return harness.Tool(t, "venvs/ventu/bin/python")
}

// ventu starts an unmodified ventu service as worker and waits until it is connected.
func (b *batching) ventu(options ...string) *exec.Cmd {
	b.t.Helper()
	service := assert.Must(filepath.Abs("models/ventu/service.py"))(b.t)
	return b.start(ventuPython(b.t), append([]string{service, b.protocol, b.address}, options...)...)
}

// start starts a worker's program in the server's folder and waits until one more is connected.
func (b *batching) start(program string, arguments ...string) *exec.Cmd {
	b.t.Helper()
	before := b.metric("pinion_worker_starts_total")
	worker := exec.Command(program, arguments...)
	worker.Dir, worker.Env = b.dir, harness.BareEnv()
	harness.RunBeside(b.t, "a worker", worker)
	assert.Eventually(b.t, "the worker is connected",
		func() bool { return b.metric("pinion_worker_starts_total") != before })
	return worker
}

// ventuAnswer is what models/ventu/service.py answers.
type ventuAnswer struct {
	Text     string
	PID      int
	Together int
}

func (b *batching) ventuAnswer(got harness.Answer) (a ventuAnswer) {
	b.t.Helper()
	assert.True(b.t, got.Err == nil && got.Code == 200 && json.Unmarshal(got.Body, &a) == nil,
		"answered %s, want 200", got)
	return a
}

// holdVentu keeps a worker busy until the returned function is called.
func (b *batching) holdVentu() (letGo func()) {
	b.t.Helper()
	gate := filepath.Join(b.t.TempDir(), "gate")
	busy := b.begin(fmt.Sprintf(`{"text": "busy", "gate": %q}`, gate))
	b.waitMetric(inFlight, "1")
	b.waitMetric(queueLength, "0")
	return func() {
		assert.NoError(b.t, os.WriteFile(gate, nil, 0o600))
		b.ventuAnswer(<-busy)
	}
}

func TestBatching_WithVentu(t *testing.T) {
	ventuPython(t)
	bothProtocols(t, func(t *testing.T, protocol string) {
		b := startBatching(t, protocol, "-batch", "4", "-timeout", "60000")
		b.ventu()

		b.want(b.post(""), 200, "")
		a := b.ventuAnswer(b.post(`{"text": "hello"}`))
		assert.True(t, a.Text == "hello" && a.Together == 1, "answered %+v, want Text hello and Together 1", a)
		b.want(b.post("{no JSON"), 422, `"Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"`)
		b.want(b.post(`{"times": 3}`), 422, `[{"loc": ["text"], "msg": "field required", "type": "value_error.missing"}]`)
		b.want(b.post(`{"text": "x", "times": "many"}`), 422,
			`[{"loc": ["times"], "msg": "value is not a valid integer", "type": "type_error.integer"}]`)

		// A mixed batch, and its size.
		letGo := b.holdVentu()
		var answers []<-chan harness.Answer
		for i := range 9 {
			body := fmt.Sprintf(`{"text": "%d"}`, i)
			if i%3 == 1 {
				body = `{"wrong": true}`
			}
			answers = append(answers, b.begin(body))
		}
		b.waitMetric(queueLength, "9")
		letGo()
		for i, answer := range answers {
			got := <-answer
			if i%3 == 1 {
				b.want(got, 422, `[{"loc": ["text"], "msg": "field required", "type": "value_error.missing"}]`)
			} else if a := b.ventuAnswer(got); a.Text != fmt.Sprint(i) || a.Together > 4 {
				t.Errorf("request %d was answered %+v, want Text %q and Together at most 4", i, a, fmt.Sprint(i))
			}
		}
		for le, want := range map[string]string{"4": b.metric("pinion_batch_size_count")} {
			assert.Equal(t, "batches of at most "+le, b.metric(`pinion_batch_size_bucket{le="`+le+`"}`), want)
		}
	})
}

// TestBatchingVentu_VentuLarge: a body above 36 kB or so could end a ventu worker, and one of 300 kB always did,
// because it takes what one recv returns for the whole batch.
func TestBatchingVentu_VentuLarge(t *testing.T) {
	ventuPython(t)
	bothProtocols(t, func(t *testing.T, protocol string) {
		b := startBatching(t, protocol, "-timeout", "60000")
		worker := b.ventu()
		if line, found := b.log.First(func(l harness.Line) bool { return l.Level == "WARN" }); found {
			t.Skipf("this system does not let one process set another's socket options: %s", line.Raw)
		}
		for range 3 {
			for _, size := range []int{30_000, 40_000, 70_000, 300_000, 3_000_000} {
				a := b.ventuAnswer(b.post(fmt.Sprintf(`{"text": %q}`, strings.Repeat("t", size))))
				assert.EqualNow(t, "length of the text", len(a.Text), size)
				assert.EqualNow(t, "PID", a.PID, worker.Process.Pid)
			}
		}
		// An answer alone, and many middle-sized ones together.
		assert.Equal(t, "bytes of an answer of 3 MB",
			len(b.ventuAnswer(b.post(`{"text": "0123456789", "times": 300000}`)).Text),
			3_000_000)
		for _, a := range b.ventuTogether(32, 10_000) {
			assert.True(t, len(a.Text) == 10_000 && a.Together >= 2,
				"one of many was answered by %d bytes, in a batch of %d, want 10_000 bytes and at least 2", len(a.Text), a.Together)
		}
	})
}

// ventuTogether returns the answers to that many texts of a size, which wait at the same time.
func (b *batching) ventuTogether(texts, size int) (answers []ventuAnswer) {
	b.t.Helper()
	letGo := b.holdVentu()
	var begun []<-chan harness.Answer
	for range texts {
		begun = append(begun, b.begin(fmt.Sprintf(`{"text": %q}`, strings.Repeat("t", size))))
	}
	b.waitMetric(queueLength, strconv.Itoa(texts))
	letGo()
	for _, answer := range begun {
		answers = append(answers, b.ventuAnswer(<-answer))
	}
	return answers
}

// TestBatchingVentu_VentuLeavesSocketsAlone: where a worker's socket is left alone, a batch of several is never larger
// than what always comes whole.
func TestBatchingVentu_VentuLeavesSocketsAlone(t *testing.T) {
	ventuPython(t)
	bothProtocols(t, func(t *testing.T, protocol string) {
		b := startBatching(t, protocol, "-timeout", "60000", "-leave-sockets")
		b.ventu()
		for _, a := range b.ventuTogether(16, 10_000) {
			assert.True(t, len(a.Text) == 10_000 && a.Together <= 3,
				"answered by %d bytes, in a batch of %d, want 10_000 bytes and at most 3", len(a.Text), a.Together)
		}
	})
}

// TestBatchingVentu_VentuWorkers: two share the load; the death of one costs only the job it died of.
func TestBatchingVentu_VentuWorkers(t *testing.T) {
	ventuPython(t)
	bothProtocols(t, func(t *testing.T, protocol string) {
		b := startBatching(t, protocol, "-timeout", "3600000", "-batch", "2")
		worker := b.ventu()
		letGo := b.holdVentu()
		two := b.ventu()
		assert.Equal(t, "the process that answered", b.ventuAnswer(b.post(`{"text": "x"}`)).PID, two.Process.Pid)
		letGo()

		// Killed in the midst of a batch, which goes to the other one.
		letGo = b.holdVentu()
		busy := worker
		if a := b.ventuAnswer(b.post(`{"text": "which"}`)); a.PID == worker.Process.Pid {
			busy = two
		}
		assert.NoError(t, busy.Process.Signal(syscall.SIGKILL))
		b.waitMetric(readyWorkers, "1")
		letGo()
		b.ventuAnswer(b.post(`{"text": "next"}`))

		// What ends every worker that gets it ends with 502; the next worker is not harmed.
		b.want(b.post(`{"text": "poison", "end": true}`), 502, "*")
		b.ventu()
		b.ventuAnswer(b.post(`{"text": "next"}`))
	})
}

// TestBatchingVentu_VentuLate: a worker that computes too long answers no job, and goes on.
func TestBatchingVentu_VentuLate(t *testing.T) {
	ventuPython(t)
	t.Parallel()
	b := startBatching(t, "unix", "-timeout", "300")
	b.ventu()
	gate := filepath.Join(t.TempDir(), "gate")
	b.want(b.post(fmt.Sprintf(`{"text": "late", "gate": %q}`, gate)), 408, "Timeout!")
	harness.WriteFile(t, gate, "")
	assert.Eventually(t, "the worker answers again", func() bool { return b.post(`{"text": "next"}`).Code == 200 })
}

// TestBatchingVentu_VentuMsgpack: bodies mean nothing to the server.
func TestBatchingVentu_VentuMsgpack(t *testing.T) {
	ventuPython(t)
	t.Parallel()
	b := startBatching(t, "unix", "-timeout", "60000")
	b.ventu("msgpack")
	body := msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(nil, 1), "text"), "héllo")
	got := b.post(string(body))
	var text string
	if _, rest, err := msgp.ReadMapHeaderBytes(got.Body); err == nil {
		_, rest, _ = msgp.ReadStringBytes(rest)
		text, _, _ = msgp.ReadStringBytes(rest)
	}
	assert.Equal(t, "Code", got.Code, 200)
	assert.Equal(t, "text", text, "héllo")
	if got := b.post("\x93\x01"); got.Code != 502 && got.Code != 422 { // cut short: ventu dies of some of these
		t.Errorf("a cut body was answered %s, want Code 502 or 422", got)
	}
}

// TestBatchingVentu_VentuExample runs what the example's README has its reader run, and compares what is shown.
func TestBatchingVentu_VentuExample(t *testing.T) {
	python := ventuPython(t)
	t.Parallel()
	const folder = "../examples/ventu"
	text := harness.ReadFile(t, filepath.Join(folder, "README.md"))
	var b *batching
	curls := 0
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		command, indented := strings.CutPrefix(line, "    ")
		if !indented {
			continue
		}
		words := strings.Fields(strings.TrimSuffix(command, " &"))
		switch {
		case strings.HasPrefix(command, "python3 -m venv"), strings.HasPrefix(command, ".venv/bin/pip"):
			assert.Contains(t, "not what ventuPython does", command, ".venv")
		case strings.HasSuffix(words[0], "bin/pinion"):
			if b != nil {
				b.leave()
			}
			b = startBatching(t, flagOf(words, "-protocol", "unix"), words[2:]...)
		case words[0] == ".venv/bin/python":
			service := harness.Absolute(t, filepath.Join(folder, words[1]))
			b.start(python, append([]string{service}, words[2:]...)...)
		case words[0] == "curl":
			curls++
			out, err := exec.Command("bash", "-c",
				strings.ReplaceAll(command, "localhost:8080", b.server.Address)+" -s").CombinedOutput()
			assert.True(t, err == nil, "%s: got %v, want no error: %s", command, err, out)
			shown := strings.TrimPrefix(lines[i+1], "    ")
			assert.True(t, string(out) == shown, "%s\nanswers  %s\nwant     %s", command, out, shown)
		case regexp.MustCompile(`^[{\["]`).MatchString(command): // an answer
		default:
			t.Errorf("got the command %s, want one that this test knows", command)
		}
	}
	assert.True(t, curls >= 3, "only %d requests found: the README has changed its form, want at least 3", curls)
}

// flagOf is a flag's value among the words of a command.
func flagOf(words []string, name, otherwise string) string {
	for i, w := range words[:len(words)-1] {
		if w == name {
			return words[i+1]
		}
	}
	return otherwise
}
