package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// end writes the end of a job.
func (r *jobsRig) end(id string, status state.Status, failure string) {
	r.t.Helper()
	object := assert.Must(json.Marshal(map[string]any{
		"id": id, "input": map[string]string{"key": "**********"}, "status": status, "error": failure,
	}))(r.t)
	state := state.State{Version: 1, Job: "token", Status: status, Attempt: 1, Server: "a", Prediction: object}
	text := assert.Must(state.MarshalJSON())(r.t)
	js, err := r.nc.JetStream()
	if err == nil {
		_, err = js.Publish("$KV.pinion_state_m.id."+id, text)
	}
	assert.NoError(r.t, err)
}

// TestJobsEnded_NewestFirst: what has ended is listed, the newest first, with its error; what waits is not.
func TestJobsEnded_NewestFirst(t *testing.T) {
	r := newJobsRig(t)
	assert.Equal(t, "without jobs", r.good("list", "--ended", "--json"), `{"ended":[]}`+"\n")
	assert.Equal(t, "without jobs", r.good("list", "--ended"), "no ended jobs\n")
	r.accept("waits")
	r.end("bad", state.Failed, "ValueError: no \x1b[2Jwords\nsecond line")
	for i := range 600 { // more than one part of the stream
		r.end(fmt.Sprintf("ok%d", i), state.Succeeded, "")
	}
	var list struct {
		Ended []struct{ ID, Status, Error, Server string }
	}
	assert.NoError(t, json.Unmarshal([]byte(r.good("list", "--ended", "--json", "--limit", "0")), &list))
	if n := len(list.Ended); n != 601 || list.Ended[0].ID != "ok599" || list.Ended[n-1].ID != "bad" {
		t.Errorf("got %d jobs, want 601 from ok599 to bad: %+v", n, list.Ended[:min(n, 3)])
	}
	table := r.good("list", "--ended", "--failed")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 2 ||
		!strings.HasPrefix(lines[1], "bad ") || !strings.Contains(lines[1], `"ValueError: no \x1b[2Jwords"`) ||
		strings.Contains(table, "second line") {
		t.Errorf("got %q, want two lines of what failed, without the second line of the error\n%s", lines, table)
	}
	out := r.good("list", "--ended", "--limit", "3")
	assert.True(t, strings.Count(out, "\nok") == 3, "with --limit 3: got, want 3\n%s", out)
	for _, wrong := range [][]string{
		{"--ended", "--status", "dead"}, {"--ended", "--class", "hi"}, {"--failed"}, {"--ended", "--limit", "-1"},
	} {
		out, err := r.of(append([]string{"list"}, wrong...)...)
		assert.True(t, err != nil, "list %q: got %s, want a refusal", wrong, out)
	}
}
