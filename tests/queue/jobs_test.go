package queue

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestJobs_CommandsOfJobsDocumentWork runs each command line of docs/reference/jobs.md, with the jobs that they name.
func TestJobs_CommandsOfJobsDocumentWork(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "ocr")
	s := harness.Ready(t, harness.Options{Model: "fleet.py", Args: []string{"--nats", at.URL, "--model", "ocr"}})
	harness.Enqueue(t, s, "p1", harness.Input{"do": "sleep"})
	harness.WaitStatus(t, s, "p1", "processing")
	publishLetter(t, at.Operator(), "p2")
	ran := 0
	for _, c := range harness.Commands(t) {
		if filepath.Base(c.Document) != "jobs.md" {
			continue
		}
		ran++
		url := at.URL
		if !strings.Contains(c.Line, "--model") { // about all models
			url = at.Operator()
		}
		out := harness.CLI{}.Good(t, strings.Fields(strings.ReplaceAll(c.Line, "nats://localhost:4222", url))[1:]...)
		switch words := strings.Fields(c.Line); words[2] {
		case "list":
			want := "p2"
			switch {
			case strings.Contains(c.Line, "--ended"):
				want = "no failed jobs"
			case url != at.URL:
				want = "ocr"
			}
			assert.Contains(t, c.Line+" prints", out, want)
		case "cancel":
			harness.WaitStatus(t, s, "p1", "canceled")
		case "retry":
			harness.WaitStatus(t, s, strings.TrimSpace(out), "succeeded")
		}
	}
	assert.True(t, ran >= 8, "only %d commands found, want at least 8", ran)
	assert.Contains(t, "all models, for a user of one", (harness.CLI{}).Bad(t, 1, "jobs", "list", "--nats", at.URL),
		"NATS does not allow this user to list the job queues: give --model NAME")
}

// TestJobs_EndedEndAtTheEdgeOfTheTerminal, but a narrow terminal has the beginning of each error too.
func TestJobs_EndedEndAtTheEdgeOfTheTerminal(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "ocr")
	s := harness.Ready(t, harness.Options{
		Dir:  harness.NewFolder(t, "run.py", `def run() -> str: raise ValueError("é" * 300)`+"\n"),
		Args: []string{"--nats", at.URL, "--model", "ocr"},
	})
	harness.Enqueue(t, s, "p1", nil)
	harness.WaitStatus(t, s, "p1", "failed")
	arguments := []string{"jobs", "list", "--ended", "--nats", at.URL, "--model", "ocr"}
	assert.Contains(t, "in a pipe", harness.CLI{}.Good(t, arguments...), "ValueError: "+strings.Repeat("é", 300)+"\n")
	for _, columns := range []int{20, 150} {
		term := harness.NewTerminal(t)
		size := &unix.Winsize{Col: uint16(columns), Row: 24}
		assert.NoError(t, unix.IoctlSetWinsize(int(term.User.Fd()), unix.TIOCSWINSZ, size))
		cmd, _, _ := harness.CLI{}.Start(t, arguments...)
		cmd.Stdout = term.Program
		assert.NoError(t, cmd.Run())
		assert.Eventually(t, "the line is cut", func() bool { return strings.HasSuffix(term.Shown(), "…\n") })
		heading, row, _ := strings.Cut(term.Shown(), "\n")
		want := max(columns, strings.Index(heading, "ERROR")+40)
		assert.Equal(t, "characters in a row", len([]rune(strings.TrimSuffix(row, "\n"))), want)
	}
}

// publishLetter makes a dead letter of the model "ocr", as a server does.
func publishLetter(t *testing.T, url, id string) {
	t.Helper()
	nc := assert.Must(nats.Connect(url))(t)
	defer nc.Close()
	m := nats.NewMsg("pinion.dead.ocr." + id)
	for name, value := range map[string]string{
		"Pinion-Id": id, "Pinion-Kind": "prediction", "Pinion-Attempts": "3", "Content-Type": "application/json",
		"Pinion-Reason": "gave up after 3 attempts", "Pinion-Subject": "pinion.job.ocr.std.0.=none",
	} {
		m.Header.Set(name, value)
	}
	m.Data = []byte(`{"input":{"token":"again"}}`)
	js, err := nc.JetStream()
	if err == nil {
		_, err = js.PublishMsg(m)
	}
	assert.NoError(t, err)
}

// TestJobs_OfEmbeddedQueue: the command reaches the server by the socket in its folder.
func TestJobs_OfEmbeddedQueue(t *testing.T) {
	t.Parallel()
	at := "embed:" + filepath.Join(t.TempDir(), "jobs")
	s := harness.StartMember(t, at, harness.Options{})
	harness.Enqueue(t, s, "runs", harness.Input{"do": "sleep"})
	harness.WaitStatus(t, s, "runs", "processing")
	harness.Enqueue(t, s, "waits", harness.Input{})
	var list struct {
		Stored int
		Jobs   []struct{ ID, Status, Server string }
	}
	text := harness.CLI{}.Good(t, "jobs", "list", "--json", "--nats", at, "--model", "m")
	err := json.Unmarshal([]byte(text), &list)
	assert.TrueNow(t, err == nil && list.Stored == 2 && len(list.Jobs) == 2 && list.Jobs[0].Status == "running" &&
		list.Jobs[0].Server != "" && list.Jobs[1].ID == "waits" && list.Jobs[1].Status == "waiting",
		"the list is %s, %v, want one job that runs at a server, and one that waits", text, err)
	harness.CLI{}.Good(t, "jobs", "cancel", "runs", "--nats", at, "--model", "m")
	harness.WaitStatus(t, s, "runs", "canceled")
	harness.WaitStatus(t, s, "waits", "succeeded")
	s.Stop()
	assert.Contains(t, "without its server", (harness.CLI{}).Bad(t, 1, "jobs", "list", "--nats", at, "--model", "m"),
		"no server runs with the job queue's folder")
}
