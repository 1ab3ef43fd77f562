package main

import (
	"strings"
	"testing"

	"pinion/tests/assert"
)

// hardJournal and its ledger have many failures, each with an excuse: f raises, g and i find no room on the disk, h is
// canceled, j waits in a stopped worker while another comes first, k spoils the sockets of its worker and l is lost
// behind that, m finds its descriptors closed, n takes too long in a harmed worker, o is lost before its first line, p
// has a long output, q has another's warning in its logs, r is overtaken while its worker dies, the cancel of v is
// lost, w ends while its worker writes how it dies, y has its worker ended with x's, which took all memory, and the
// file of z is removed.
const (
	hardJournal = `{"at":10,"what":"ask","id":"f","token":"tf","mode":"sync","items":-1,"do":"raise"}
{"at":20,"what":"answer","id":"f","code":200,"status":"failed","error":"ValueError: tf"}
{"at":100,"what":"full"}
{"at":110,"what":"ask","id":"g","token":"tg","mode":"sync","items":-1,"file":true}
{"at":120,"what":"answer","id":"g","code":200,"status":"failed","error":"write: no space left on device"}
{"at":130,"what":"ask","id":"i","token":"ti","mode":"sync","items":-1,"file":true}
{"at":140,"what":"answer","id":"i","code":507,"error":"no room"}
{"at":150,"what":"empty"}
{"at":160,"what":"ask","id":"h","token":"th","mode":"async","items":-1}
{"at":170,"what":"answer","id":"h","code":202,"status":"starting"}
{"at":180,"what":"cancel","id":"h"}
{"at":190,"what":"look","id":"h","code":200,"status":"canceled"}
{"at":200,"what":"harm","pid":9,"how":"stopped"}
{"at":210,"what":"ask","id":"j","token":"tj","mode":"async","items":-1}
{"at":220,"what":"answer","id":"j","code":202,"status":"starting"}
{"at":230,"what":"ask","id":"p","token":"tp","mode":"sync","items":-1,"pad":5000}
{"at":240,"what":"answer","id":"p","code":200,"status":"succeeded","length":5007,"head":"\"tp 8 xxxx"}
{"at":250,"what":"mended","pid":9}
{"at":260,"what":"look","id":"j","code":200,"status":"succeeded","output":"tj 9 ","length":7}
{"at":300,"what":"ask","id":"k","token":"tk","mode":"sync","items":-1,"do":"rubbish"}
{"at":305,"what":"ask","id":"l","token":"tl","mode":"sync","items":-1}
{"at":320,"what":"answer","id":"k","code":200,"status":"failed","error":"worker killed while running this prediction: rubbish"}
{"at":321,"what":"answer","id":"l","code":200,"status":"failed","error":"worker killed while running this prediction: rubbish"}
{"at":400,"what":"ask","id":"m","token":"tm","mode":"sync","items":-1,"do":"close_all"}
{"at":410,"what":"answer","id":"m","code":200,"status":"failed","error":"OSError: Bad file descriptor"}
{"at":500,"what":"ask","id":"n","token":"tn","mode":"sync","items":-1,"do":"cut_off"}
{"at":510,"what":"answer","id":"n","code":200,"status":"failed","error":"Prediction timed out: long"}
{"at":600,"what":"harm","pid":12,"how":"killed"}
{"at":605,"what":"ask","id":"o","token":"to","mode":"sync","items":-1}
{"at":610,"what":"answer","id":"o","code":200,"status":"failed","error":"worker killed while running this prediction"}
{"at":700,"what":"ask","id":"q","token":"tq","mode":"sync","items":-1}
{"at":710,"what":"answer","id":"q","code":200,"status":"succeeded","output":"tq 8 ","length":7,"logs":"coroutine 'run' was never awaited\n"}
{"at":800,"what":"ask","id":"s","token":"ts","mode":"sync","items":-1,"do":"close_sockets"}
{"at":810,"what":"ask","id":"r","token":"tr","mode":"async","items":-1}
{"at":820,"what":"answer","id":"r","code":202,"status":"starting"}
{"at":830,"what":"ask","id":"u","token":"tu","mode":"sync","items":-1}
{"at":840,"what":"answer","id":"u","code":200,"status":"succeeded","output":"tu 8 ","length":7}
{"at":850,"what":"answer","id":"s","code":200,"status":"succeeded","output":"ts 13 ","length":8}
{"at":860,"what":"look","id":"r","code":200,"status":"succeeded","output":"tr 8 ","length":7}
{"at":900,"what":"ask","id":"v","token":"tv","mode":"async","items":-1}
{"at":910,"what":"answer","id":"v","code":202,"status":"starting"}
{"at":920,"what":"cancel","id":"v"}
{"at":930,"what":"look","id":"v","code":200,"status":"succeeded","output":"tv 8 ","length":7,"logs":"Exception ignored in: <callback>\n"}
{"at":1000,"what":"ask","id":"w","token":"tw","mode":"sync","items":-1}
{"at":1010,"what":"harm","pid":15,"how":"segmentation fault"}
{"at":1020,"what":"answer","id":"w","code":200,"status":"succeeded","output":"tw 15 ","length":8,"logs":"Fatal Python error\n"}
{"at":1100,"what":"ask","id":"x","token":"tx","mode":"sync","items":-1,"do":"exhaust"}
{"at":1101,"what":"ask","id":"y","token":"ty","mode":"sync","items":-1}
{"at":1120,"what":"answer","id":"x","code":200,"status":"failed","error":"worker killed (SIGKILL) while running this prediction, out of memory: the kernel ended it (1 GiB)"}
{"at":1130,"what":"answer","id":"y","code":200,"status":"failed","error":"worker killed (SIGKILL) while running this prediction, out of memory: the kernel ended it (1 GiB)"}
{"at":1200,"what":"ask","id":"z","token":"tz","mode":"sync","items":-1,"file":true}
{"at":1210,"what":"removed"}
{"at":1220,"what":"answer","id":"z","code":200,"status":"failed","error":"FileNotFoundError: [Errno 2] No such file or directory: 'tz.txt'"}
{"at":1230,"what":"remade"}
`
	hardLedger = `begun tf 8 15
begun tp 8 235
done tp 8
begun tj 9 255
done tj 9
begun tk 10 310
harm tk 10 311 rubbish
begun tl 10 312
done tl 10
begun tm 11 405
harm tm 11 406 close_all
begun tn 14 505
harm tn 14 506 cut_off
begun tq 8 705
done tq 8
begun ts 13 805
harm ts 13 806 close_sockets
done ts 13
begun tu 8 835
done tu 8
begun tr 8 855
done tr 8
begun tv 8 915
done tv 8
begun tw 15 1005
done tw 15
begun tx 16 1105
harm tx 16 1106 exhaust
begun ty 17 1107
begun tz 8 1215
`
)

func TestExcuses_HardTimesInWhichAllIsWell(t *testing.T) {
	if code, said := tryOut(t, hardJournal, hardLedger, "-overtaken", "0", "-late", "0", "-foreign-coroutines", "1"); code != 0 || said != "" {
		t.Errorf("code %d: %s, want 0 and none", code, said)
	}
}

// TestExcuses_EveryExcuseIsNeeded: each case takes one away.
func TestExcuses_EveryExcuseIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		journal, ledger []string // what is replaced by what
		more            string   // what is added to the journal
		flags           []string
		want            string
	}{
		"raised something else": {journal: []string{"ValueError: tf", "ValueError: tg"}, want: `f: it failed: "ValueError: tg"`},
		"raised nothing":        {journal: []string{`,"do":"raise"`, ""}, want: "f: it failed"},
		"raised and succeeded": {
			journal: []string{`"failed","error":"ValueError: tf"`, `"succeeded","output":"tf 8 ","length":7`},
			ledger:  []string{"begun tf 8 15\n", "begun tf 8 15\ndone tf 8\n"}, want: "f: it raised, and succeeded",
		},
		"no file to find room for": {
			journal: []string{`"tg","mode":"sync","items":-1,"file":true`, `"tg","mode":"sync","items":-1`},
			want:    "g: there was room",
		},
		"room for the file": {journal: []string{`{"at":100,"what":"full"}` + "\n", "", `{"at":150,"what":"empty"}` + "\n", ""}, want: "g: there was room"},
		"a refusal with room": {
			journal: []string{`"at":130,"what":"ask","id":"i"`, `"at":151,"what":"ask","id":"i"`, `"at":140,`, `"at":152,`},
			want:    "1 were refused",
		},
		"refused and over": {
			more: `{"at":990,"what":"look","id":"i","code":200,"status":"succeeded","output":"","length":2}` + "\n",
			want: "i: it was refused (507 no room) and is succeeded",
		},
		"canceled without a request": {
			journal: []string{`{"at":180,"what":"cancel","id":"h"}` + "\n", ""},
			want:    "h (async): it was canceled, and no client asked for that",
		},
		"over and not over": {more: `{"at":990,"what":"look","id":"h","code":200,"status":"processing"}` + "\n", want: "h: it was over, and is processing"},
		"overtaken while all moved": {
			journal: []string{
				`{"at":200,"what":"harm","pid":9,"how":"stopped"}` + "\n", "",
				`{"at":250,"what":"mended","pid":9}` + "\n", "",
			}, want: "j: 1 that were asked for after",
		},
		"overtaken after the stop":   {journal: []string{`"at":250,"what":"mended"`, `"at":201,"what":"mended"`}, want: "j: 1 that were asked for after"},
		"overtaken before a death":   {journal: []string{`{"at":850,`, `{"at":815,`}, want: "r: 1 that were asked for after"},
		"lost behind nothing":        {ledger: []string{"harm tk 10 311 rubbish", "harm tk 10 311 leave"}, want: "worker 10"},
		"lost too far behind":        {flags: []string{"-behind", "1"}, want: "worker 10"},
		"too slow in a sound one":    {ledger: []string{"harm tn 14 506 cut_off\n", ""}, want: "n: it timed out in worker 14, which was not harmed"},
		"closed without a cause":     {ledger: []string{"harm tm 11 406 close_all\n", ""}, want: `m: it failed: "OSError: Bad file descriptor"`},
		"a cancel that was not sent": {journal: []string{`{"at":920,"what":"cancel","id":"v"}` + "\n", ""}, want: "v: look: its logs are"},
		"a fault without a blow":     {journal: []string{"segmentation fault", "killed"}, want: "w: answer: its logs are"},
		"a fault before the blow":    {journal: []string{`"at":1010,`, `"at":1021,`}, want: "w: answer: its logs are"},
		"memory enough":              {ledger: []string{"harm tx 16 1106 exhaust", "harm tx 16 1106 leave"}, want: "y: it failed in worker 17, which was not harmed"},
		"memory enough by then": {
			ledger: []string{"harm tx 16 1106 exhaust", "harm tx 16 1131 exhaust"},
			want:   "y: it failed in worker 17, which was not harmed",
		},
		"another's long output":     {journal: []string{`"head":"\"tp 8`, `"head":"\"tq 8`}, want: `p: answer: the output begins with`},
		"a long output that is cut": {journal: []string{`"length":5007`, `"length":5006`}, want: "the output has 5006 bytes, want 5007"},
		"too many warnings":         {flags: []string{"-foreign-coroutines", "0"}, want: "1 have in their logs"},
		"a text that is another's":  {journal: []string{`"output":"tu 8 "`, `"output":"tv 8 "`}, want: `u: answer: the output is`},
		"a file that was not removed": {
			journal: []string{`{"at":1210,"what":"removed"}` + "\n", "", `{"at":1230,"what":"remade"}` + "\n", ""},
			want:    "z: its file was not removed",
		},
		"a file that was back": {journal: []string{`"at":1200,`, `"at":1231,`, `"at":1220,`, `"at":1240,`}, want: "z: its file was not removed"},
		"no file to be removed": {
			journal: []string{`"tz","mode":"sync","items":-1,"file":true`, `"tz","mode":"sync","items":-1`},
			want:    "z: its file was not removed",
		},
		"a text that is not a text": {journal: []string{`"output":"tu 8 "`, `"output":[123456]`}, want: "u: answer: json"},
	} {
		t.Run(name, func(t *testing.T) {
			journal := strings.NewReplacer(c.journal...).Replace(hardJournal) + c.more
			ledger := strings.NewReplacer(c.ledger...).Replace(hardLedger)
			if journal == hardJournal && ledger == hardLedger && c.flags == nil {
				t.Fatal("the case spoils nothing")
			}
			code, said := tryOut(t, journal, ledger, append([]string{"-overtaken", "0", "-late", "0", "-foreign-coroutines", "1"}, c.flags...)...)
			assert.Equal(t, "code", code, 1)
			assert.Contains(t, "said", said, c.want)
		})
	}
}

// TestExcuses_LossWithoutCause: a prediction failed with its worker, and nothing had harmed a worker.
func TestExcuses_LossWithoutCause(t *testing.T) {
	const journal = `{"at":605,"what":"ask","id":"o","token":"to","mode":"sync","items":-1}
{"at":610,"what":"answer","id":"o","code":200,"status":"failed","error":"worker killed while running this prediction"}
`
	code, said := tryOut(t, journal, "")
	assert.Equal(t, "code", code, 1)
	assert.Contains(t, "said", said, "o: it failed with a worker, and none was harmed")
}
