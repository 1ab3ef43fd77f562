package supervise

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/ipc"
	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

// piped is a logs whose pipes the test writes to.
type piped struct {
	*logs
	t       *testing.T
	page    *ipc.Page
	ends    [inherited]*os.File
	written [sources]uint64

	mu    sync.Mutex
	lines []string // "stream prediction text", or, where that is long, how long
	runs  string   // the prediction that runs
}

func newPiped(t *testing.T) *piped {
	t.Helper()
	noLeak(t)
	page, err := ipc.NewPage()
	assert.NoError(t, err)
	p := &piped{t: t, page: page}
	var ours [inherited]*os.File
	for i := range ours {
		ours[i], p.ends[i], err = logPipe(sourceNames[i])
		assert.NoError(t, err)
	}
	p.logs = assert.Must(newLogs(ours, page, recorder{note: p.note}, p.running))(t)
	t.Cleanup(func() {
		for _, end := range p.ends {
			end.Close()
		}
		p.logs.Close()
		page.Close()
	})
	return p
}

func (p *piped) note(level slog.Level, s source, prediction string, line []byte, more ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := string(line)
	if len(text) > 100 {
		text = fmt.Sprintf("%d bytes that end with %s", len(text), text[len(text)-30:])
	}
	if level != slog.LevelInfo {
		text = fmt.Sprint(text, " ", level, more)
	}
	p.lines = append(p.lines, sourceNames[s]+" "+prediction+" "+text)
}

func (p *piped) running() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

func (p *piped) logged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// write writes text; it returns how much was ever written to that stream.
func (p *piped) write(s source, text string) uint64 {
	p.t.Helper()
	_, err := p.ends[s].WriteString(text)
	assert.NoError(p.t, err)
	p.written[s] += uint64(len(text))
	return p.written[s]
}

// take claims up to where both streams are now.
func (p *piped) take(prediction string) string {
	return string(joined(p.Take(prediction, p.written)))
}

// TestLogs_PositionsAreExact: each claim gets what was written up to its position, be it read already or not, and not
// a byte more.
func TestLogs_PositionsAreExact(t *testing.T) {
	p := newPiped(t)
	var at []uint64
	var want []string
	for i := range 200 {
		text := fmt.Sprintf("text %d ", i) + strings.Repeat("x", i%7*300)
		want = append(want, text)
		at = append(at, p.write(stdout, text))
		if i%10 == 9 { // several lie there, and are claimed one after another
			for k := i - 9; k <= i; k++ {
				assert.EqualNow(t, fmt.Sprintf("claim %d", k), string(joined(p.Take("", [sources]uint64{at[k]}))), want[k])
			}
		}
	}
	assert.Equal(t, "the text that was left", p.take(""), "")
	assert.Equal(t, "counted bytes", p.page.Stdout().Bytes(), p.written[stdout])
}

// TestLogs_StreamsKeepTheirOrder where a mark came between them.
func TestLogs_StreamsKeepTheirOrder(t *testing.T) {
	p := newPiped(t)
	var got, want string
	for i := range 50 {
		s := source(i % 2)
		text := fmt.Sprintf("%s %d\n", sourceNames[s], i)
		p.write(s, text)
		want += text
		got += p.take("")
	}
	assert.Equal(t, "the logs", got, want)
}

func TestLogs_ClaimsDoNotMix(t *testing.T) {
	p := newPiped(t)
	p.write(stdout, "out of a\n")
	at := p.written
	p.write(stderr, "err of b\n")
	p.write(stdout, "out of b\n")
	// All of it is read, as one piece of each stream.
	assert.Eventually(t, "all is read", func() bool {
		return p.page.Stdout().Bytes() == p.written[stdout] && p.page.Stderr().Bytes() == p.written[stderr]
	})
	assert.Equal(t, "a", string(joined(p.Take("a", at))), "out of a\n")
	if got := p.take("b"); got != "out of b\nerr of b\n" && got != "err of b\nout of b\n" {
		t.Errorf("b got %q, want %q or %q", got, "out of b\nerr of b\n", "err of b\nout of b\n")
	}
	want := []string{"stderr b err of b", "stdout a out of a", "stdout b out of b"}
	assert.True(t, slices.Equal(slices.Sorted(slices.Values(p.logged())), want), "the server's log has %q, want %q", p.logged(), want)
}

// TestLogs_LinesOfServersLog: halves are joined where they are of one prediction, and of one alone.
func TestLogs_LinesOfServersLog(t *testing.T) {
	p := newPiped(t)
	p.write(stdout, "half of ")
	p.take("a")
	p.write(stdout, "a line\nanother\n\nhalf")
	p.take("a")
	p.write(stdout, "b's \xff\xfe\nb's end")
	p.take("b")
	p.write(stderr, "c's\n")
	p.TakeAll()
	want := []string{
		"stdout a half of a line", "stdout a another", "stdout a ", "stdout a half", "stdout b b's \xff\xfe",
		"stderr  c's", "stdout b b's end",
	}
	assert.EqualSlices(t, "the server's log", p.logged(), want)
}

// TestLogs_UnclaimedText is logged after a delay, as the running prediction.s, and not again when it is claimed.
func TestLogs_UnclaimedText(t *testing.T) {
	p := newPiped(t)
	p.mu.Lock()
	p.runs = "long"
	p.mu.Unlock()
	p.write(stdout, "first\nhalf")
	assert.Eventually(t, "it is logged", func() bool { return slices.Equal(p.logged(), []string{"stdout long first"}) })
	p.write(stdout, ", the other\nlast\n")
	assert.Equal(t, "the claim", p.take("long"), "first\nhalf, the other\nlast\n")
	want := []string{"stdout long first", "stdout long half, the other", "stdout long last"}
	assert.True(t, slices.Equal(p.logged(), want), "the server's log has %q, want %q", p.logged(), want)
}

// TestLogs_LongLine is cut.
func TestLogs_LongLine(t *testing.T) {
	p := newPiped(t)
	p.mu.Lock()
	p.runs = "a" // a slow machine may log the text before it is claimed
	p.mu.Unlock()
	var got string
	for range 9 << 4 { // 9 MiB without an end
		p.write(stdout, strings.Repeat("x", 64<<10))
		got += p.take("a")
	}
	p.write(stdout, "the end\n")
	got += p.take("a")
	want := strings.Repeat("x", 9<<20) + "the end\n"
	assert.True(t, got == want, "%d bytes were claimed, want %d: a prediction's logs have the line whole", len(got), len(want))
	notice := logtext.LineNotice
	total := 0
	for _, line := range p.logged() { // where the test is slow, parts are logged before they are too long
		var n int
		if _, err := fmt.Sscanf(line, "stdout a %d bytes that end with", &n); err != nil || n > 4<<20+len(notice) {
			t.Errorf("the server's log has %q, want at most %d bytes of a", line, 4<<20+len(notice))
		}
		if total += n; strings.HasSuffix(line, notice[len(notice)-30:]) {
			total -= len(notice)
		}
	}
	if want := 9<<20 + len("the end"); total != want {
		t.Errorf("the server's log has %d bytes, %q, want %d", total, p.logged(), want)
	}
}

// TestLogs_MoreThanIsKept: what one prediction writes beyond the limit is in the server's log only, and the next has
// what is its own, to the byte.
func TestLogs_MoreThanIsKept(t *testing.T) {
	p := newPiped(t)
	line := strings.Repeat("x", 1023) + "\n"
	chunk := strings.Repeat(line, 64)
	for range (logtext.Max + 1<<20) / len(chunk) {
		p.write(stdout, chunk)
		p.Take("", [sources]uint64{}) // reads on, claims nothing
		assert.Eventually(t, "it is read", func() bool { return p.page.Stdout().Bytes() == p.written[stdout] })
	}
	at := p.written
	p.write(stdout, "of the next\n")
	assert.Eventually(t, "it is read", func() bool { return p.page.Stdout().Bytes() == p.written[stdout] })

	half := [sources]uint64{logtext.Max / 2} // within what was kept
	first := joined(p.Take("a", half))
	assert.Equal(t, "bytes of the first half", len(first), logtext.Max/2)
	second := string(joined(p.Take("a", at)))
	notice := string(logtext.AppendNotice(nil, 1<<20))
	if !strings.HasSuffix(second, "x\n"+notice) || len(second) != logtext.Max/2+len(notice) {
		t.Errorf("the rest has %d bytes that end with %q, want second ending in %q and len(second) %d bytes", len(second),
			second[max(0, len(second)-80):], "x\n"+notice, logtext.Max/2+len(notice))
	}
	if got := p.take("b"); !strings.HasPrefix(got, "\n[12 bytes of log were cut") && got != "of the next\n" {
		t.Errorf("the next has %q, want starting with %q or %q", got, "\n[12 bytes of log were cut", "of the next\n")
	}
	lines := p.logged()
	end := "1023 bytes that end with " + strings.Repeat("x", 30)
	assert.Equal(t, "whole lines in the server's log",
		count(lines, "stdout  "+end)+count(lines, "stdout a "+end), (logtext.Max+1<<20)/1024)
	// There is room again.
	p.write(stdout, "and more\n")
	assert.Equal(t, "the one after has", p.take("c"), "and more\n")
}

// TestLogs_TakeAll takes what lies there, and ends though a grandchild writes on.
func TestLogs_TakeAll(t *testing.T) {
	p := newPiped(t)
	p.write(stdout, "last words\n")
	p.write(stderr, "and a traceback\n")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // a grandchild
		defer close(stopped)
		more := bytes.Repeat([]byte("more\n"), 1000)
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := p.ends[stderr].Write(more); err != nil {
					return
				}
			}
		}
	}()
	got := string(p.TakeAll())
	close(stop)
	for done := false; !done; { // its last write may wait for room
		select {
		case <-stopped:
			done = true
		default:
			p.TakeAll()
		}
	}
	assert.True(t, strings.HasPrefix(got, "last words\nand a traceback\n"),
		"got %.100q, want it to start with %q", got, "last words\nand a traceback\n")
}

// TestLogs_CloseWhileAllIsRead: closing waits for the reads in progress, and must not hold what those wait for.
func TestLogs_CloseWhileAllIsRead(t *testing.T) {
	for range 200 {
		p := newPiped(t)
		var writers sync.WaitGroup
		for s := range p.ends {
			writers.Go(func() {
				for {
					if _, err := p.ends[s].WriteString("text\n"); err != nil {
						return // the read end is closed
					}
				}
			})
		}
		p.logs.Close()
		writers.Wait()
	}
}

// TestLogs_AfterClose: leaders of lost slots may come late.
func TestLogs_AfterClose(t *testing.T) {
	p := newPiped(t)
	p.write(stdout, "text\n")
	p.logs.Close()
	got := p.take("a")
	assert.False(t, got != "" && got != "text\n", "got %q, want empty or %q", got, "text\n")
	p.TakeAll()
	p.logs.Close()
}

// TestLogs_PipeAtItsEnd is closed by its reader alone.
func TestLogs_PipeAtItsEnd(t *testing.T) {
	p := newPiped(t)
	p.write(stdout, "text\n")
	for _, end := range p.ends {
		end.Close()
	}
	assert.Eventually(t, "both ends are seen", func() bool {
		p.logs.mu.Lock()
		defer p.logs.mu.Unlock()
		return p.pipes[stdout].closed && p.pipes[stderr].closed
	})
	assert.Equal(t, "text that is left", string(p.TakeAll()), "text\n")
}

// TestLogs_Records are whole and have their levels, wherever the pipes were read and claimed between.
func TestLogs_Records(t *testing.T) {
	p := newPiped(t)
	at := p.write(stderr, "plain\nhalf")
	p.Mark(ipc.LogRecord{Pipe: 1, From: at, To: at + 8, Level: 40, Logger: "a.b"})
	p.write(stderr, "two\none\n")
	p.Mark(ipc.LogRecord{Pipe: 1, From: at + 8, To: at + 12, Level: 10})
	p.write(stderr, "low\nend\n")
	assert.Equal(t, "the claim", p.take("a"), "plain\nhalftwo\none\nlow\nend\n")
	p.write(stdout, "out\n")
	p.Mark(ipc.LogRecord{Pipe: 0, From: 4, To: 8, Level: 20})
	p.take("a")
	assert.EqualSlices(t, "the server's log", p.logged(), []string{
		"stderr a plain", "stderr a half", "stderr a two\none ERROR [logger a.b]", "stderr a low DEBUG []", "stderr a end", "stdout a out",
	})
	p.write(stdout, "ou")
	p.take("a")
	p.write(stdout, "t\nlast\n")
	p.take("b")
	assert.EqualSlices(t, "the rest", p.logged()[6:], []string{"stdout a ou", "stdout b t", "stdout b last"})
	assert.Equal(t, "records that wait", len(p.server.marked), 0)
}
