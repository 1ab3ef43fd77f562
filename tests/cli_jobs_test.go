package tests

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"pinion/tests/harness"
)

// TestCommandsOfTheJobsDocumentWork runs each command line of docs/reference/jobs.md, with the jobs that they name.
func TestCommandsOfTheJobsDocumentWork(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "ocr")
	s := harness.Ready(t, harness.Options{Model: "fleet.py", Args: []string{"--nats", at.URL, "--model", "ocr"}})
	enqueue(t, s, "p1", input{"do": "sleep"})
	becomes(t, s, "p1", "processing")
	publishLetter(t, at.Operator(), "p2")
	ran := 0
	for _, c := range commands(t) {
		if filepath.Base(c.document) != "jobs.md" {
			continue
		}
		ran++
		out := cli{}.good(t, strings.Fields(strings.ReplaceAll(c.line, "nats://localhost:4222", at.URL))[1:]...)
		switch words := strings.Fields(c.line); words[2] {
		case "list":
			wantText(t, c.line+" prints", out, "p2")
		case "cancel":
			becomes(t, s, "p1", "canceled")
		case "retry":
			becomes(t, s, strings.TrimSpace(out), "succeeded")
		}
	}
	if ran < 7 {
		t.Errorf("only %d commands found", ran)
	}
}

// publishLetter makes a dead letter of the model "ocr", as a server does.
func publishLetter(t *testing.T, url, id string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
}

// TestJobsOfAnEmbeddedQueue: the command reaches the server by the socket in its folder.
func TestJobsOfAnEmbeddedQueue(t *testing.T) {
	t.Parallel()
	at := "embed:" + filepath.Join(t.TempDir(), "jobs")
	s := member(t, at, harness.Options{})
	enqueue(t, s, "runs", input{"do": "sleep"})
	becomes(t, s, "runs", "processing")
	enqueue(t, s, "waits", input{})
	var list struct {
		Stored int
		Jobs   []struct{ ID, Status, Server string }
	}
	text := cli{}.good(t, "jobs", "list", "--json", "--nats", at, "--model", "m")
	if err := json.Unmarshal([]byte(text), &list); err != nil || list.Stored != 2 || len(list.Jobs) != 2 ||
		list.Jobs[0].Status != "running" || list.Jobs[0].Server == "" || list.Jobs[1].ID != "waits" ||
		list.Jobs[1].Status != "waiting" {
		t.Fatalf("the list is %s, %v", text, err)
	}
	cli{}.good(t, "jobs", "cancel", "runs", "--nats", at, "--model", "m")
	becomes(t, s, "runs", "canceled")
	becomes(t, s, "waits", "succeeded")
	s.Stop()
	wantText(t, "without its server", (cli{}).bad(t, 1, "jobs", "list", "--nats", at, "--model", "m"),
		"no server runs with the job queue's folder")
}
