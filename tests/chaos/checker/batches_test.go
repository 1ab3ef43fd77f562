package main

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

// batchJournal and its ledger have batches in which all promises hold: a and b succeed; c raises, and d and e do not; f
// ends its worker twice and g, who is with it, the first time only; of h and i, whose key is another, h is refused in
// the result.
const (
	batchJournal = `{"at":10,"what":"ask","id":"a","token":"ta","mode":"sync","items":-1,"says":true}
{"at":11,"what":"ask","id":"b","token":"tb","mode":"sync","items":-1}
{"at":30,"what":"answer","id":"a","code":200,"batch":2,"status":"succeeded","output":"ta 7 ","length":7,"logs":"ta\n"}
{"at":31,"what":"answer","id":"b","code":200,"batch":2,"status":"succeeded","output":"tb 7 ","length":7,"logs":"ta\n"}
{"at":100,"what":"ask","id":"c","token":"tc","mode":"sync","items":-1,"do":"raise"}
{"at":101,"what":"ask","id":"d","token":"td","mode":"sync","items":-1}
{"at":102,"what":"ask","id":"e","token":"te","mode":"sync","items":-1}
{"at":130,"what":"answer","id":"c","code":200,"batch":3,"status":"failed","error":"ValueError: tc"}
{"at":131,"what":"answer","id":"d","code":200,"batch":3,"status":"succeeded","output":"td 7 ","length":7}
{"at":132,"what":"answer","id":"e","code":200,"batch":3,"status":"succeeded","output":"te 7 ","length":7}
{"at":200,"what":"ask","id":"f","token":"tf","mode":"sync","items":-1,"do":"leave"}
{"at":201,"what":"ask","id":"g","token":"tg","mode":"sync","items":-1,"says":true}
{"at":230,"what":"answer","id":"f","code":200,"status":"failed","error":"worker exited with code 3 while running this prediction"}
{"at":260,"what":"answer","id":"g","code":200,"batch":1,"status":"succeeded","output":"tg 9 ","length":7,"logs":"tg\ntg\n"}
{"at":300,"what":"ask","id":"h","token":"th","mode":"sync","items":-1,"do":"refuse","key":1}
{"at":301,"what":"ask","id":"i","token":"ti","mode":"sync","items":-1,"key":1}
{"at":330,"what":"answer","id":"h","code":200,"batch":2,"status":"failed","error":"ValueError: th"}
{"at":331,"what":"answer","id":"i","code":200,"batch":2,"status":"succeeded","output":"ti 9 ","length":7}
`
	batchLedger = `batch 0 7 20 0 ta tb
ended 0 7
batch 1 7 110 0 tc td te
raised 1 7
batch 2 7 111 0 tc td
raised 2 7
batch 3 7 112 0 tc
raised 3 7
batch 4 7 113 0 td
ended 4 7
batch 5 7 114 0 te
ended 5 7
batch 6 7 210 0 tf tg
harm tf 7 211 leave
batch 0 8 220 0 tf
harm tf 8 221 leave
batch 0 9 250 0 tg
ended 0 9
batch 1 9 310 1 th ti
ended 1 9
`
)

func TestBatches_InWhichAllIsWell(t *testing.T) {
	if code, said := tryOut(t, batchJournal, batchLedger, "-batch", "3"); code != 0 || said != "" {
		t.Errorf("code %d: %s, want 0 and none", code, said)
	}
}

// TestBatches_EveryBrokenPromiseOfBatchIsFound: each case spoils the story in one place.
func TestBatches_EveryBrokenPromiseOfBatchIsFound(t *testing.T) {
	const deathToo = `"status":"failed","error":"worker killed (SIGKILL) while running this prediction"`
	for name, c := range map[string]struct {
		journal, ledger []string // what is replaced by what
		batch           string
		want            string
	}{
		"too many together":     {batch: "2", want: "worker 7: 3 were in one batch, and no more than 2 may be"},
		"unequal keys":          {journal: []string{`"items":-1,"key":1`, `"items":-1`}, want: "i: its key is 0, and its batch has 1"},
		"twice in a call":       {ledger: []string{"0 ta tb", "0 ta tb ta"}, want: "a: it is twice in a call"},
		"an unknown prediction": {ledger: []string{"0 ta tb", "0 ta tb tx"}, want: "the model ran tx, which no client asked for"},
		"done twice":            {ledger: []string{"ended 0 7\n", "ended 0 7\nended 0 7\n"}, want: "a: the model did it 2 times"},
		"a call that raised alone": {
			journal: []string{`"do":"raise"`, `"do":"refuse"`},
			ledger:  []string{"harm tf 7 211 leave\n", ""}, want: "worker 7: call 1 raised, though no item in it was to",
		},
		"a bystander fails": {
			journal: []string{`"status":"succeeded","output":"td 7 ","length":7`, `"status":"failed","error":"ValueError: tc"`},
			want:    `d: it failed: "ValueError: tc"`,
		},
		"not tried alone": {ledger: []string{"batch 3 7 112 0 tc\nraised 3 7\n", ""}, want: "c: it raised with 1 others, and was not tried alone"},
		"raised and succeeded": {
			journal: []string{`"status":"failed","error":"ValueError: tc"`, `"status":"succeeded","output":"tc 7 ","length":7`},
			ledger:  []string{"raised 3 7", "ended 3 7"}, want: "c: it raised, and succeeded",
		},
		"refused without a result":   {ledger: []string{"ended 1 9\n", ""}, want: "h: it failed with its result, and has none"},
		"succeeded without a result": {ledger: []string{"ended 1 9\n", ""}, want: "i: it succeeded, was begun 1 times and done 0 times"},
		"in a batch though it was refused": {
			journal: []string{`"do":"refuse"`, `"do":"before"`},
			want:    "h: it failed before the model had it, and was in a batch",
		},
		"a half with others": {
			ledger: []string{"batch 4 7 113 0 td", "batch 4 7 113 0 td te"},
			want:   "d: it was tried again with e, which had not raised with it",
		},
		"a half that is none": {ledger: []string{"batch 2 7 111 0 tc td", "batch 2 7 111 0 tc td te"}, want: "c: 3 raised, and were tried again as 3"},
		"a third time":        {ledger: []string{"batch 1 9 310", "batch 0 10 300 0 tg\nended 0 10\nbatch 1 9 310"}, want: "g: it was in 3 batches"},
		"again in the same worker": {
			ledger:  []string{"batch 0 9 250 0 tg\nended 0 9", "batch 7 7 250 0 tg\nended 7 7"},
			journal: []string{"tg 9", "tg 7"}, want: "g: it was twice in a batch of worker 7",
		},
		"again for no reason": {ledger: []string{"harm tf 7 211 leave\n", ""}, want: "g: it was tried again, and worker 7 was not harmed"},
		"again with others":   {ledger: []string{"batch 0 9 250 0 tg", "batch 0 9 250 0 tg ti"}, want: "g: it was tried again, with 1 others"},
		"again after a batch of one": {
			ledger: []string{"batch 6 7 210 0 tf tg", "batch 6 7 210 0 tg"},
			want:   "1 that were a batch of one were tried again, and at most 0 others",
		},
		"too many again": {batch: "1", want: "worker 7: 2 were tried again after it, and no more than 1 may"},
		"not again": {
			journal: []string{`"batch":1,"status":"succeeded","output":"tg 9 ","length":7`, deathToo},
			ledger:  []string{"batch 0 8 220 0 tf\nharm tf 8 221 leave\nbatch 0 9 250 0 tg\nended 0 9\n", ""},
			want:    "2 were in a batch and failed with their worker",
		},
		"another size": {
			journal: []string{`"id":"a","code":200,"batch":2`, `"id":"a","code":200,"batch":3`},
			want:    "a: answer: its batch has 3, it says, and the model had 2",
		},
		"logs of none in the batch": {
			journal: []string{`"output":"tb 7 ","length":7,"logs":"ta\n"`, `"output":"tb 7 ","length":7,"logs":"tb\n"`},
			want:    `b: answer: its logs are "tb\n"`,
		},
		"logs of no batch before":    {journal: []string{`"tg\ntg\n"`, `"tg\ntg\ntg\n"`}, want: `g: answer: its logs are "tg\ntg\ntg\n"`},
		"words of a silent worker":   {journal: []string{`"tg\ntg\n"`, `"Fatal Python error\ntg\ntg\n"`}, want: `g: answer: its logs are`},
		"an answer of a dead worker": {journal: []string{"tg 9", "tg 7"}, want: "g: answer: the output is"},
		"more failed than batches of one": {
			journal: []string{`"batch":1,"status":"succeeded","output":"tg 9 ","length":7`, deathToo},
			ledger:  []string{"batch 0 9 250 0 tg\nended 0 9", "batch 1 8 250 0 tg"}, want: "worker 8",
		},
		"lost in an unharmed worker":       {ledger: []string{"harm tf 8 221 leave\n", ""}, want: "f: it failed in worker 8, which was not harmed"},
		"begun where there are no batches": {batch: "0", want: "f: the model began it 2 times"},
		"canceled without a request": {
			journal: []string{`"status":"succeeded","output":"ti 9 ","length":7`, `"status":"canceled"`},
			want:    "i (sync): it was canceled, and no client asked for that",
		},
	} {
		t.Run(name, func(t *testing.T) {
			journal := strings.NewReplacer(c.journal...).Replace(batchJournal)
			ledger := strings.NewReplacer(c.ledger...).Replace(batchLedger)
			batch := c.batch
			if batch == "" {
				batch = "3"
				if journal == batchJournal && ledger == batchLedger {
					t.Fatalf("the case spoils nothing: got %q, want anything but %q", ledger, batchLedger)
				}
			}
			code, said := tryOut(t, journal, ledger, "-batch", batch)
			assert.Equal(t, "code", code, 1)
			assert.Contains(t, "said", said, c.want)
		})
	}
}

// TestBatches_ExcusesOfBatches: each of them holds.
func TestBatches_ExcusesOfBatches(t *testing.T) {
	const left = `{"at":202,"what":"ask","id":"l","token":"tl","mode":"sync","items":-1}
{"at":203,"what":"left","id":"l"}
{"at":290,"what":"look","id":"l","code":200,"status":"canceled"}
`
	for name, c := range map[string]struct {
		journal, ledger []string
		more            string
	}{
		"its company left in time":              {ledger: []string{"batch 6 7 210 0 tf tg", "batch 6 7 210 0 tg"}, more: left},
		"its second worker ended before a line": {ledger: []string{"batch 0 8 220 0 tf\n", ""}},
		"its first worker wrote how it dies": {
			ledger:  []string{"211 leave", "211 segv"},
			journal: []string{`"tg\ntg\n"`, `"Fatal Python error\ntg\ntg\n"`},
		},
		"it was done, and its answer never came": {ledger: []string{"harm tf 7 211 leave\n", "harm tf 7 211 leave\nended 6 7\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := strings.NewReplacer(c.ledger...).Replace(batchLedger)
			if ledger == batchLedger {
				t.Fatalf("the case changes nothing: got %q, want anything but %q", ledger, batchLedger)
			}
			if code, said := tryOut(t, strings.NewReplacer(c.journal...).Replace(batchJournal)+c.more, ledger, "-batch", "3"); code != 0 || said != "" {
				t.Errorf("code %d: %s, want 0 and none", code, said)
			}
		})
	}
}

func TestBatches_CallsThatCannotBeChecked(t *testing.T) {
	for name, line := range map[string]string{
		"an empty batch":  "batch 9 7 400 0",
		"no number":       "batch x 7 400 0 ta",
		"no time":         "batch 9 7 x 0 ta",
		"no key":          "batch 9 7 400 x ta",
		"never begun":     "ended 9 7",
		"in another":      "raised 0 10",
		"without a place": "ended 0 x",
	} {
		t.Run(name, func(t *testing.T) {
			if code, said := tryOut(t, batchJournal, batchLedger+line+"\n", "-batch", "3"); code != 2 || said == "" {
				t.Errorf("code %d: %s, want 2 and non-empty", code, said)
			}
		})
	}
}

// TestBatches_OvertakenWhilePreparationEndsWorker: j harms its worker before its batch, and k waits for that worker's
// end.
func TestBatches_OvertakenWhilePreparationEndsWorker(t *testing.T) {
	const ledger = "harm tj 9 405 shut_sockets\nbatch 0 8 435 0 tl\nended 0 8\nbatch 0 10 920 0 tk\nended 0 10\n"
	const journal = `{"at":400,"what":"ask","id":"j","token":"tj","mode":"sync","items":-1,"do":"shut_sockets"}
{"at":410,"what":"ask","id":"k","token":"tk","mode":"async","items":-1}
{"at":415,"what":"answer","id":"k","code":202,"status":"starting"}
{"at":430,"what":"ask","id":"l","token":"tl","mode":"sync","items":-1}
{"at":440,"what":"answer","id":"l","code":200,"batch":1,"status":"succeeded","output":"tl 8 ","length":7}
{"at":900,"what":"answer","id":"j","code":200,"status":"failed","error":"worker killed while running this prediction"}
{"at":950,"what":"look","id":"k","code":200,"batch":1,"status":"succeeded","output":"tk 10 ","length":8}
`
	for end, want := range map[string]string{"900": "", "412": "k: 1 that were asked for after it was taken in"} {
		code, said := tryOut(t, strings.Replace(journal, `"at":900`, `"at":`+end, 1), ledger, "-batch", "3", "-overtaken", "0", "-late", "0")
		if (code == 0) != (want == "") || !strings.Contains(said, want) {
			t.Errorf("j ends at %s: code %d, want %q:\n%s", end, code, want, said)
		}
	}
}
