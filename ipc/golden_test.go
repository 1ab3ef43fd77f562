package ipc

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

var update = flag.Bool("update", false, "write the golden files, and the examples of PROTOCOL.md")

// example is one frame as PROTOCOL.md shows it. Its bytes are in testdata/golden.
type example struct {
	name string
	message
	byFront bool              // it is Conn that makes it; else C does
	send    func(*Conn) error // how the front makes it; nil means Conn's general functions
}

// examples has at least one frame of each kind. The bodies are what the two sides write, to the byte.
func examples() []example {
	id := MakeID(0, 1, 0)
	worker := func(name string, kind Kind, id, nanos uint64, body string) example {
		return example{name, message{Kind: kind, ID: id, Nanos: nanos, Body: []byte(body)}, false, nil}
	}
	front := func(name string, kind Kind, flags uint8, id uint64, body string, send func(*Conn) error) example {
		return example{name, message{Kind: kind, Flags: flags, ID: id, Body: []byte(body)}, true, send}
	}
	predict := func(id uint64, flags uint8, input, context string) func(*Conn) error {
		return func(c *Conn) error {
			var more []byte
			if context != "" {
				more = []byte(context)
			}
			if err := c.QueuePredict(id, flags, nil, nil, more, nil, nil, []byte(input)); err != nil {
				return err
			}
			return c.Flush()
		}
	}
	device := "1"
	outside := string(append(AppendTensorHead(nil, 'f', []int64{1, 1 << 14}, 1<<16), 200, 0, 0, 0, 0, 0, 0, 0))
	outside = outside[:2] + "\x82" + outside[3:]
	tensor := string(AppendTensorHead(nil, 'f', []int64{1, 2}, 8)) + "\x00\x00\x80\x3f\x00\x00\x00\x40"
	return []example{
		front("predict", KindPredict, 0, id, `{"input":{"s":"world"}}`, predict(id, 0, `{"s":"world"}`, "")),
		front("predict-context", KindPredict, 0, id, `{"input":{"s":"world"},"context":{"user":"ann"}}`,
			predict(id, 0, `{"s":"world"}`, `{"user":"ann"}`)),
		front("predict-train", KindPredict, FlagEvents|FlagTrain, id, `{"input":{"steps":3}}`,
			predict(id, FlagEvents|FlagTrain, `{"steps":3}`, "")),
		front("predict-file", KindPredict, FlagFile, id, ``, nil),
		front("predict-batch-item", KindPredict, FlagBatchItem, 128, `{"input":{"text":"one"}}`,
			predict(128, FlagBatchItem, `{"text":"one"}`, "")),
		front("predict-tensor", KindPredict, 0, id, "{\"input\":{\"x\":"+tensor+"}}", func(c *Conn) error {
			if err := c.QueuePredict(id, 0, nil, nil, nil, nil, nil, []byte(`{"x":`), []byte(tensor), []byte("}")); err != nil {
				return err
			}
			return c.Flush()
		}),
		{
			"predict-shared",
			message{KindPredict, FlagFile, id, 1 << 20, []byte(`{"input":{"x":` + outside + "}}")},
			true,
			func(c *Conn) error {
				file := SharedFile{FD: 2, Data: make([]byte, 1<<20), Room: 1 << 20} // any descriptor
				elements := file.Data[200 : 200+1<<16]
				if err := c.QueuePredict(id, 0, nil, &file, nil, nil, nil, []byte(`{"x":`),
					AppendTensorHead(nil, 'f', []int64{1, 1 << 14}, len(elements)), elements, []byte("}")); err != nil {
					return err
				}
				return c.Flush()
			},
		},
		front("batch", KindBatch, 0, 320, `{"ids":[128,192,256]}`,
			func(c *Conn) error { return c.Send(KindBatch, 320, IDs(128, 192, 256)) }),
		front("batch-context", KindBatch, 0, 320, `{"ids":[128],"context":{"traceparent":"00-…-01"}}`, func(c *Conn) error {
			return c.Send(KindBatch, 320, BatchOf([]byte(`{"traceparent":"00-…-01"}`), 128))
		}),
		front("drop", KindDrop, 0, 192, `{"ids":[192]}`, func(c *Conn) error { return c.Send(KindDrop, 192, IDs(192)) }),
		worker("succeeded", KindSucceeded, id, 1_250_000, `{"metrics":{"predict_time":0.00125},"output":"hello world"}`),
		worker("succeeded-tensor", KindSucceeded, id, 1_250_000, `{"metrics":{"predict_time":0.00125},"output":`+tensor+"}"),
		worker("failed", KindFailed, id, 1_250_000,
			`{"metrics":{"predict_time":0.00125},"error":"ValueError: no such voice"}`),
		worker("failed-client", KindFailed, id, 1_250_000,
			`{"metrics":{"predict_time":0.00125},"error":{"text":"no face","status":422,"code":"no_face"}}`),
		worker("canceled", KindCanceled, id, 500_000_000, `{"metrics":{"predict_time":0.5,"steps":12}}`),
		worker("log", KindLog, id, 0, `{"source":"stdout","data":"step 1\n"}`),
		worker("log-mark", KindLogMark, id, 0, `{"stdout":512,"stderr":0}`),
		worker("log-record", KindLogRecord, id, 0, `{"pipe":1,"from":80,"to":110,"level":30,"logger":"diffusers"}`),
		worker("started", KindStarted, id, 0, ``),
		worker("output", KindOutput, id, 0, `"token"`),
		worker("metric", KindMetric, id, 0, `{"name":"tokens","value":1,"mode":"increment"}`),
		worker("traced", KindTraced, id, 1_700_000_000_000_000_000, `21500`),
		worker("prepared", KindPrepared, 128, 0, ``),
		worker("batch-done", KindBatchDone, 320, 5_300_000, `{"runs":1,"size":3,"failed":false}`),
		{"log-pipe", message{Kind: KindLogPipe, Flags: FlagFile, ID: id, Nanos: 1}, false, nil},
		worker("log-pipes-end", KindLogPipesEnd, 0, 0, ``),
		{"calls", message{Kind: KindCalls, Flags: FlagFile, ID: id}, false, nil},
		worker("call", KindCall, 0, 0, `{"model":"embed","input":{"text":"hello"},"token":"5f…","files":[]}`),
		worker("read", KindRead, 32, 0, ``),
		front("call-answer", KindSucceeded, 0, 0, `{"output":`+tensor+`}`, nil),
		front("call-files", KindOutput, 0, 0,
			`{"output":"pinion-file:7a…:0/out.png","files":{"folder":"/tmp/p","token":"7a…"}}`, nil),
		front("call-failed", KindFailed, 0, 0, `{"error":"ValueError: no such voice"}`, nil),
		worker("hello", KindHello, 0, 0, `{"protocol":1,"pid":4711,"python":"3.13.0","executable":"/usr/bin/python3"}`),
		worker("loaded", KindLoaded, 0, 0, `{"cog":"0.23.0","slots":1,"async":false,"schema":{"openapi":"3.0.2"}}`),
		worker("ready", KindReady, 0, 0, `{"seconds":0.25,"stdout":512,"stderr":0}`),
		worker("setup-failed", KindSetupFailed, 0, 0,
			`{"error":"KeyError: 'w'","seconds":0.25,"stdout":0,"stderr":1024,"problem":{"file":"run.py","line":7,"what":"KeyError: 'w'","fix":"","traceback":"…"}}`),
		worker("cuda", KindCUDA, 0, 0,
			`{"state":"absent","devices":[],"seconds":0.000512,"steps":{"load":0.000512,"init":0,"context":0}}`),
		worker("healthy", KindHealthy, 7, 0, `{"ok":false,"error":"the healthcheck returned False"}`),
		front("health", KindHealth, 0, 7, `{}`, func(c *Conn) error { return c.SendHealth(7) }),
		worker("pong", KindPong, 7, 0, ``),
		worker("method-batches", KindMethodBatches, 0, 0,
			`{"batches":{"decode":[2,150000,9800000,3,0,10100000]},"spans":[]}`),
		worker("stack", KindStack, 7, 0, "Stack (most recent call first):\n  File \"/m/run.py\", line 7 in run\n"),
		worker("stacks", KindStacks, 7, 0,
			`{"text":"Thread 1 (most recent call first):\n  File \"/m/run.py\", line 3 in load\n"}`),
		front("askstack", KindAskStack, 0, 7, ``, nil),
		front("ping", KindPing, 0, 7, ``, nil),
		front("interrupt", KindInterrupt, 0, 0, ``, nil),
		worker("preloaded", KindPreloaded, 0, 0,
			`{"refused":"its setup leaves 1 thread running (watcher)","imports":true,"setup_seconds":8.5}`),
		worker("forked", KindForked, 0, 0, `{"pid":4711}`),
		front("handle", KindHandle, FlagFile, 2, ``, nil),
		front("fork", KindFork, 0, 0,
			`{"config":{"python":"","libpython":"","sdk":"","root":"","ref":"predict.py","mode":""},"env":{"CUDA_VISIBLE_DEVICES":"1","LANG":null}}`, func(c *Conn) error {
				return c.SendFork(ForkRequest{
					WorkerConfig{Ref: "predict.py"},
					map[string]*string{"CUDA_VISIBLE_DEVICES": &device, "LANG": nil},
				})
			}),
		front("item", KindItem, 0, id, `"word"`, nil),
		front("item-binary", KindItem, FlagBinary, id, "\x00\x01\xff", nil),
		front("items-end", KindItemsEnd, 0, id, ``, nil),
		front("items-broken", KindItemsEnd, 0, id, `words/1: 3 is not of type "string"`, nil),
		worker("items-read", KindItemsRead, id, 32, ``),
		front("slot", KindSlot, FlagFile, 0, ``, nil),
		front("shutdown", KindShutdown, 0, 0, `{}`, (*Conn).SendShutdown),
	}
}

func goldenFile(name string) string { return filepath.Join("testdata", "golden", name+".txt") }

// golden returns the bytes of a golden file, which holds them as a table.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	text := assert.Must(os.ReadFile(goldenFile(name)))(t)
	var b []byte
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "|")
		_, digits, _ := strings.Cut(line, " ")
		part, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(digits), " ", ""))
		assert.NoError(t, err, name)
		b = append(b, part...)
	}
	assert.EqualNow(t, name, hex.Dump(b), string(text))
	return b
}

// TestGolden_EncodeGolden: what we send is what the golden files hold.
func TestGolden_EncodeGolden(t *testing.T) {
	if *update {
		writeGolden(t)
	}
	for _, e := range examples() {
		want := golden(t, e.name)
		if got := wire(e.Kind, e.Flags, e.ID, e.Nanos, e.Body); !bytes.Equal(got, want) {
			t.Errorf("%s: the header is made as\n%s, want\n%s", e.name, hex.Dump(got), hex.Dump(want))
		}
		if !e.byFront {
			continue
		}
		if got := sent(t, e, len(want)); !bytes.Equal(got, want) {
			t.Errorf("%s: sent as\n%s, want\n%s", e.name, hex.Dump(got), hex.Dump(want))
		}
	}
}

// sent returns the frame as it comes out of a socket.
func sent(t *testing.T, e example, n int) []byte {
	t.Helper()
	var c *Conn
	fd := rawEnd(t, &c)
	defer unix.Close(fd)
	var err error
	switch {
	case e.send != nil:
		err = e.send(c)
	case e.Kind == KindSlot, e.Kind == KindHandle:
		err = c.SendFile(e.Kind, e.ID, memoryFile(t, nil))
	case e.Flags == FlagFile:
		err = c.Send(e.Kind, e.ID, filled(InlineMax+1, 1))
	default:
		if err = c.QueueIn(nil, e.Kind, e.Flags, e.ID, e.Body); err == nil {
			err = c.Flush()
		}
	}
	assert.NoError(t, err)
	return readAll(t, fd, n)
}

// TestGolden_DecodeGolden: what the golden files hold is understood.
func TestGolden_DecodeGolden(t *testing.T) {
	noLeak(t)
	for _, e := range examples() {
		if e.Flags == FlagFile && len(e.Body) > 0 { // only a worker receives it
			continue
		}
		var c *Conn
		fd := rawEnd(t, &c)
		want := e.message
		if e.Flags == FlagFile {
			want.Body = []byte(`{"input":{"s":"world"}}`)
			body := memoryFile(t, want.Body)
			if e.Kind == KindLogPipe || e.Kind == KindCalls { // the descriptor is not a body
				want.Body = nil
			}
			writeAll(t, fd, golden(t, e.name), body)
			unix.Close(body)
		} else {
			writeAll(t, fd, golden(t, e.name))
		}
		got := receive(t, c, 1)
		assert.True(t, got[0].equal(want), "%s: got %v, want %v", e.name, got[0], want)
		unix.Close(fd)
	}
}

// TestGolden_EveryKindHasExample keeps the examples complete, and the folder without other files.
func TestGolden_EveryKindHasExample(t *testing.T) {
	missing := kinds()
	var names []string
	for _, e := range examples() {
		names = append(names, e.name+".txt")
		for name, value := range missing {
			if value == uint64(e.Kind) {
				delete(missing, name)
			}
		}
	}
	for name := range missing {
		t.Errorf("got no example of Kind%s, want one", name)
	}
	files := assert.Must(os.ReadDir(filepath.Dir(goldenFile(""))))(t)
	for _, f := range files {
		assert.True(t, slices.Contains(names, f.Name()),
			"%s is not an example's: got %.300q, want %q among them", f.Name(), names, f.Name())
	}
}

// blocks are the examples of PROTOCOL.md: a comment that names one, and the table in a fence.
var blocks = regexp.MustCompile("(?s)<!-- golden: ([\\w-]+) -->\n```\n(.*?)```\n")

// TestGolden_ProtocolShowsGoldenFiles: the examples of PROTOCOL.md are the golden files, each once.
func TestGolden_ProtocolShowsGoldenFiles(t *testing.T) {
	text := assert.Must(os.ReadFile("PROTOCOL.md"))(t)
	shown := make(map[string]string)
	for _, m := range blocks.FindAllStringSubmatch(string(text), -1) {
		if _, twice := shown[m[1]]; twice {
			t.Errorf("PROTOCOL.md shows %s twice", m[1])
		}
		shown[m[1]] = m[2]
	}
	for _, e := range examples() {
		want := assert.Must(os.ReadFile(goldenFile(e.name)))(t)
		got, ok := shown[e.name]
		assert.True(t, ok && got == string(want), "PROTOCOL.md shows %s as\n%s, want\n%s", e.name, got, want)
		delete(shown, e.name)
	}
	for name := range shown {
		t.Errorf("PROTOCOL.md shows %s, want a golden file of it", name)
	}
	for name := range kinds() {
		assert.Contains(t, "PROTOCOL.md does not name "+name, string(text), "`"+name+"`")
	}
}

func writeGolden(t *testing.T) {
	t.Helper()
	tables := make(map[string]string)
	for _, e := range examples() {
		tables[e.name] = hex.Dump(wire(e.Kind, e.Flags, e.ID, e.Nanos, e.Body))
		assert.NoError(t, os.WriteFile(goldenFile(e.name), []byte(tables[e.name]), 0o644))
	}
	text := assert.Must(os.ReadFile("PROTOCOL.md"))(t)
	text = blocks.ReplaceAllFunc(text, func(block []byte) []byte {
		name := string(blocks.FindSubmatch(block)[1])
		return []byte("<!-- golden: " + name + " -->\n```\n" + tables[name] + "```\n")
	})
	assert.NoError(t, os.WriteFile("PROTOCOL.md", text, 0o644))
}

// TestProtocol_NamesLongestInlineBody: the bodies that PROTOCOL.md bounds have the bound that is compiled in.
func TestProtocol_NamesLongestInlineBody(t *testing.T) {
	text := assert.Must(os.ReadFile("PROTOCOL.md"))(t)
	bounds := regexp.MustCompile(`(?:above|more than|to [\d ]+ \() ?(\d+) MiB`).FindAllStringSubmatch(string(text), -1)
	assert.TrueNow(t, len(bounds) >= 3, "got %d bounds of a body in PROTOCOL.md, want 3 or more", len(bounds))
	for _, bound := range bounds {
		if want := strconv.Itoa(InlineMax >> 20); bound[1] != want {
			t.Errorf("PROTOCOL.md says %q, want %s MiB", bound[0], want)
		}
	}
}
