package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// The journal and the ledger in which all promises hold: one prediction by an async request with a webhook, one that
// was lost with its worker, one that came after, one that was refused, and one whose client left too early.
const (
	storyJournal = `{"at":10,"what":"ask","id":"a","token":"ta","mode":"async","items":-1,"says":true,"hook":true}
{"at":20,"what":"answer","id":"a","code":202,"status":"starting"}
{"at":30,"what":"ask","id":"b","token":"tb","mode":"sync","items":-1}
{"at":35,"what":"ask","id":"d","token":"td","mode":"stream","items":1,"pad":2}
{"at":36,"what":"ask","id":"e","token":"te","mode":"sync","items":-1}
{"at":37,"what":"left","id":"e"}
{"at":40,"what":"hook","id":"a","status":"processing","taken":false}
{"at":45,"what":"hook","id":"a","status":"succeeded","output":"ta 7 ","length":7,"logs":"ta\n","taken":false,"took":2e-8}
{"at":50,"what":"hook","id":"a","status":"succeeded","output":"ta 7 ","length":7,"logs":"ta\n","taken":true}
{"at":55,"what":"look","id":"a","code":200,"status":"succeeded","output":"ta 7 ","length":7,"logs":"ta\n"}
{"at":58,"what":"harm","pid":7,"how":"killed"}
{"at":60,"what":"answer","id":"b","code":200,"status":"failed","error":"worker killed (SIGKILL) while running this prediction by another process"}
{"at":70,"what":"answer","id":"d","code":200,"status":"succeeded","output":["td 8 ","td 8 xx"],"length":19}
{"at":80,"what":"look","id":"e","code":404}
`
	storyLedger = `begun ta 7 25
done ta 7
begun tb 7 52
begun td 8 65
done td 8
`
)

// tryOut runs the command on two texts.
func tryOut(t *testing.T, journal, ledger string, flags ...string) (code int, said string) {
	t.Helper()
	folder := t.TempDir()
	names := []string{filepath.Join(folder, "journal"), filepath.Join(folder, "ledger")}
	for i, text := range []string{journal, ledger} {
		assert.NoError(t, os.WriteFile(names[i], []byte(text), 0o600))
	}
	var out, complaints bytes.Buffer
	code = command(append(flags, names...), &out, &complaints)
	return code, complaints.String()
}

func TestChecker_StoryInWhichAllIsWell(t *testing.T) {
	if code, said := tryOut(t, storyJournal, storyLedger); code != 0 || said != "" {
		t.Errorf("code %d: %s, want 0 and none", code, said)
	}
}

// TestChecker_EveryBrokenPromiseIsFound: each case spoils the story in one place.
func TestChecker_EveryBrokenPromiseIsFound(t *testing.T) {
	const refusal = `"code":429,"error":"full"}` + "\n"
	for name, c := range map[string]struct {
		journal, ledger []string // what is replaced by what
		more, ran       string   // what is added
		want            string
	}{
		"begun twice":             {ran: "begun td 9 70\n", want: "d: the model began it 2 times"},
		"done twice":              {ran: "done td 8\n", want: "d: the model did it 2 times"},
		"succeeded and not done":  {ledger: []string{"done td 8\n", ""}, want: "d: it succeeded, was begun 1 times and done 0 times"},
		"succeeded and never ran": {ledger: []string{"begun td 8 65\ndone td 8\n", ""}, want: "d: it succeeded, was begun 0 times"},
		"another's output":        {journal: []string{`["td 8 ","td 8 xx"]`, `["td 8 ","tb 8 xx"]`}, want: "item 1 is"},
		"another's text": {
			journal: []string{
				`"look","id":"a","code":200,"status":"succeeded","output":"ta`,
				`"look","id":"a","code":200,"status":"succeeded","output":"tb`,
			}, want: "a: hook says succeeded",
		},
		"another's logs":      {journal: []string{`"logs":"ta\n"}` + "\n" + `{"at":58`, `"logs":"tb\n"}` + "\n" + `{"at":58`}, want: `its logs are "tb\n"`},
		"too long an output":  {journal: []string{`"length":19`, `"length":20`}, want: "the output has 20 bytes"},
		"an item too few":     {journal: []string{`["td 8 ","td 8 xx"]`, `["td 8 xx"]`}, want: "has 1 items"},
		"two terminal states": {more: `{"at":90,"what":"look","id":"d","code":200,"status":"canceled"}` + "\n", want: "d: answer says succeeded"},
		"no terminal state": {
			journal: []string{`"id":"d","code":200,"status":"succeeded"`, `"id":"d","code":200,"status":"processing"`},
			want:    "d (stream): it has no terminal state",
		},
		"never answered": {
			journal: []string{`"what":"answer","id":"d","code":200`, `"what":"broken","error":"reset","id":"d","code":0`},
			want:    "no answer",
		},
		"forgotten": {more: `{"at":90,"what":"look","id":"d","code":404}` + "\n", want: "later not known"},
		"refused and run": {
			journal: []string{
				`"id":"d","code":200,"status":"succeeded","output":["td 8 ","td 8 xx"],"length":19}`,
				`"id":"d","code":503}`,
			}, want: "was refused (503), and the model ran it",
		},
		"refused":             {more: `{"at":90,"what":"ask","id":"f","token":"tf"}` + "\n" + `{"at":91,"what":"answer","id":"f",` + refusal, want: "1 were refused"},
		"never taken and run": {ran: "begun te 8 90\n", want: "was never taken, and the model ran it"},
		"a duration below nothing": {
			more: `{"at":90,"what":"look","id":"d","code":200,"status":"succeeded","took":-0.1}` + "\n",
			want: "look says that it took -0.1",
		},
		"longer than its client waited": {
			more: `{"at":90,"what":"look","id":"d","code":200,"status":"succeeded","took":0.1}` + "\n",
			want: "look says that it took 0.1",
		},
		"shorter than it slept": {journal: []string{`"ask","id":"a"`, `"ask","id":"a","wait":0.5`}, want: "it slept for 0.5"},
		"a webhook too few":     {journal: []string{`"taken":true`, `"taken":false`}, want: "took completed in 0 times"},
		"a webhook too many": {
			more: `{"at":90,"what":"hook","id":"a","status":"succeeded","output":"ta 7 ","length":7,"logs":"ta\n","taken":true}` + "\n", want: "took completed in 2 times",
		},
		"a webhook too late": {more: `{"at":90,"what":"hook","id":"a","status":"processing","taken":true}` + "\n", want: "told after completed"},
		"failed where no worker was harmed": {
			journal: []string{`"pid":7,"how":"killed"`, `"pid":9,"how":"killed"`},
			want:    "failed in worker 7, which was not harmed",
		},
		"failed in the wrong words": {journal: []string{"while running this prediction by", "between predictions by"}, want: "with the words"},
		"failed without a reason": {
			journal: []string{`"error":"worker killed (SIGKILL) while`, `"error":"ups: killed (SIGKILL) while`},
			want:    `b: it failed: "ups`,
		},
		"too many failed with one worker": {
			more: `{"at":90,"what":"ask","id":"f","token":"tf"}` + "\n" +
				`{"at":91,"what":"answer","id":"f","code":200,"status":"failed","error":"worker killed (SIGKILL) while running this prediction"}` + "\n", ran: "begun tf 7 54\n", want: "worker 7",
		},
		"canceled without a request": {
			journal: []string{`"status":"succeeded","output":["td 8 ","td 8 xx"],"length":19`, `"status":"canceled"`},
			want:    "no client asked for that",
		},
		"another's file":        {ran: "foreign td 8\n", want: "handed another prediction's file"},
		"an unknown prediction": {ran: "begun tx 8 99\n", want: "which no client asked for"},
		"overtaken":             {ledger: []string{"begun ta 7 25", "begun ta 7 53"}, want: "a: 1 that were asked for after"},
		"full disk that is not": {
			journal: []string{
				"worker killed (SIGKILL) while running this prediction by another process",
				"write: no space left on device",
			}, want: "there was room",
		},
		"a time limit for nothing": {
			journal: []string{
				"worker killed (SIGKILL) while running this prediction by another process",
				"Prediction timed out: x", `"pid":7,"how":"killed"`, `"pid":9,"how":"killed"`,
			}, want: "timed out in worker 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			journal := strings.NewReplacer(c.journal...).Replace(storyJournal) + c.more
			ledger := strings.NewReplacer(c.ledger...).Replace(storyLedger) + c.ran
			if journal == storyJournal && ledger == storyLedger {
				t.Fatalf("the case spoils nothing: got %q, want anything but %q", ledger, storyLedger)
			}
			code, said := tryOut(t, journal, ledger, "-overtaken", "0", "-late", "0")
			assert.Equal(t, "code", code, 1)
			assert.Contains(t, "said", said, c.want)
		})
	}
}

func TestChecker_WhatCannotBeCheckedIsNoSuccess(t *testing.T) {
	for name, texts := range map[string][2]string{
		"nothing":          {"", ""},
		"no JSON":          {"{\n", ""},
		"half a line":      {storyJournal + `{"at":9`, storyLedger},
		"half a ledger":    {storyJournal, storyLedger + "begun tx"},
		"an unknown entry": {storyJournal + `{"at":9,"what":"guess","id":"a"}` + "\n", storyLedger},
		"an unknown id":    {storyJournal + `{"at":9,"what":"look","id":"z"}` + "\n", storyLedger},
		"asked for twice":  {storyJournal + `{"at":9,"what":"ask","id":"a","token":"tz"}` + "\n", storyLedger},
		"an odd ledger":    {storyJournal, storyLedger + "guessed ta 7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, said := tryOut(t, texts[0], texts[1]); code != 2 || said == "" {
				t.Errorf("code %d: %s, want 2 and non-empty", code, said)
			}
		})
	}
	assert.Equal(t, "code", command([]string{"-nonsense"}, &bytes.Buffer{}, &bytes.Buffer{}), 2)
	if code, _ := tryOut(t, storyJournal, storyLedger, "-slots"); code != 2 {
		t.Errorf("code %d, want 2", code)
	}
}

// TestChecker_ExhaustionLasts until its worker has died, however long that took, and for a while after that.
func TestChecker_ExhaustionLasts(t *testing.T) {
	const second = int64(1e9)
	slow := &prediction{observed: []*entry{{At: 9 * second, Status: "failed"}}}
	for _, c := range []struct {
		by *prediction
		to int64
	}{{&prediction{}, 2*second + haste}, {slow, 9*second + haste}} {
		if got := (exhaustion{c.by, 2 * second}).span(); got != (span{2 * second, c.to}) {
			t.Errorf("%v, want the end %d", got, c.to)
		}
	}
}
