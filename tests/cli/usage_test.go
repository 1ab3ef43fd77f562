package cli

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestUsage_CLIVersion(t *testing.T) {
	t.Parallel()
	want := harness.CLI{}.Good(t, "version")
	assert.Contains(t, "the versions", want, "pinion ", "commit ", "cog interface ")
	for _, flag := range []string{"--version", "-v"} {
		assert.Equal(t, flag+" prints", (harness.CLI{}).Good(t, flag), want)
	}
}

// TestUsage_CLIWrongUsage: exit code 2, a line that says what is allowed, a page of the documents, and nothing on
// stdout.
func TestUsage_CLIWrongUsage(t *testing.T) {
	t.Parallel()
	assert.Contains(t, "no model", harness.CLI{Dir: t.TempDir()}.Bad(t, 2, "serve"), "cog.yaml")
	dir := harness.NewFolder(t, "run.py", "def run() -> str: ...\n")
	for _, c := range []struct {
		line string
		env  string
		want string
	}{
		{"help predikt", "", `unknown command "predikt"; did you mean predict?`},
		{"help xyzzyx", "", `unknown command "xyzzyx"; 'pinion help' lists the commands`},
		{"help all", "", "'pinion serve --help all' all flags of pinion serve"},
		{"help jobs list nope", "", `pinion jobs list has no command "nope"`},
		{"completion bash x", "", "pinion completion bash takes no argument, not x"},
		{"jobs list x", "", "pinion jobs list takes no argument, not x"},
		{"jobs list --nope-nope", "", "'pinion jobs list --help' lists the flags"},
		{"help serve nope", "", `pinion serve has no command "nope"`},
		{"prdict -i a=1", "", `unknown command "prdict"; did you mean predict?`},
		{"jobs lst", "", `pinion jobs has no command "lst"; did you mean list?`},
		{"jobs xyzzyx", "", `pinion jobs has no command "xyzzyx": it has apply, cancel, list`},
		{"init --template", "", "--template needs a value: kind of model to begin with: text, image, chat"},
		{"serve nowhere", "", "nowhere does not exist: name the folder that holds cog.yaml"},
		{"check nowhere", "", "nowhere does not exist: name the folder that holds cog.yaml"},
		{"check run.py", "", "run.py is not a folder: name the one that holds cog.yaml"},
		{"dockerfile run.py", "", "run.py is not a folder: name the one that holds cog.yaml"},
		{"bench nowhere", "", "pinion: nowhere does not exist: name the folder that holds cog.yaml"},
		{"run llama3", "", "'pinion init llama3' makes one"},
		{"serve run.py", "", "name the one that holds cog.yaml, as .; without a cog.yaml, add --predictor run.py:NAME"},
		{"push", "", "'docker push NAME' sends it"},
		{"chat m", "", "pinion has no command \"chat\": 'pinion serve DIR'"},
		{"pull llama3", "", "'pinion init --template chat NAME' makes one"},
		{"help push", "", "'pinion build -t NAME' makes the image"},
		{"--versoin", "", "did you mean --version?"},
		{"--nope-nope", "", "'pinion help' lists the commands"},
		{"serve --grace -1s", "", "--grace -1s: must be at least 0"},
		{"serve --queue-timeout -1s", "", "--queue-timeout -1s: must be at least 0"},
		{"serve --setup-timeout -1s", "", "--setup-timeout -1s: must be at least 0"},
		{"serve --cancel-grace -1s", "", "--cancel-grace -1s: must be at least 0"},
		{"serve a b", "", `"a" has no name: write each of several models as NAME=DIR`},
		{"check a b", "", "pinion check takes one folder, not a, b"},
		{"version now", "", "pinion version takes no argument, not now"},
		{"completion korn", "", `unknown shell "korn": must be one of bash, fish, powershell, zsh`},
		{"serve --port http", "", `--port "http": must be a whole number`},
		{"serve -p", "", "--port needs a value: a whole number"},
		{"serve --grace 30", "", `--grace "30": must be a time with its unit, as 500ms, 30s or 1m30s`},
		{"serve --reload=perhaps", "", `--reload "perhaps": must be true or false`},
		{"bench --rate fast", "", `--rate "fast": must be a number`},
		{"bench ftp://example.com", "", "invalid URL ftp://example.com: must begin with http:// or https://"},
		{"serve --prot 1", "", "did you mean --port?"},
		{"serve --workers 0", "", "--workers"},
		{"serve --workers none", "", `--workers "none": must be a whole number of at least 1`},
		{"serve --max-rss lots", "", "--max-rss invalid size \"lots\": must be a number of bytes, or one with KiB"},
		{"serve --log-format xml", "", `--log-format "xml": must be json or console`},
		{"serve --log-level loud", "", `--log-level "loud": must be debug, info, warning or error`},
		{"serve --restart maybe", "", `--restart "maybe": must be on-crash or never`},
		{"serve --reload-strategy both", "", `--reload-strategy "both": must be start-first or stop-first`},
		{"serve --x-mode fly", "", `--x-mode "fly": must be predict or train`},
		{"serve --gpus some", "", "--gpus some: "},
		{"serve --preload setup", "", "there is no folder setup to serve: write --preload=setup, with the ="},
		{"serve --preload imports .", "", "there is no folder imports to serve: write --preload=imports, with the ="},
		{"serve --preload=both", "", `--preload "both": must be imports, setup, true (which is imports) or false`},
		{"serve --preload=setup --gpus 0;1", "", "one setup cannot run on the GPUs of several workers: use --preload=imports"},
		{"serve", "PINION_RESTART=maybe", `PINION_RESTART: "maybe": must be on-crash or never`},
		{"serve", "PINION_RELOAD_STRATEGY=both", `PINION_RELOAD_STRATEGY: "both": must be start-first or stop-first`},
		{"serve", "PINION_RELOAD=perhaps", `PINION_RELOAD: "perhaps": must be true or false`},
		{"serve", "PINION_QUEUE=many", `PINION_QUEUE: "many": must be a whole number`},
		{"serve", "PINION_QUEUE_TIMEOUT=soon", `PINION_QUEUE_TIMEOUT: "soon": must be a number of seconds`},
		{"serve", "PINION_BATCH_WAIT=soon", "PINION_BATCH_WAIT: "},
		{"serve", "PINION_CUDA=maybe", `PINION_CUDA: "maybe": must be on or off`},
		{"bench -- --wrokers 2", "", "did you mean --workers?"},
		{"bench -i nope=1", "", `unknown input "nope"`},
		{"batching --protocol udp", "", `-protocol "udp": must be unix or tcp`},
		{"init", "", ". has a run.py already, and nothing is overwritten; choose another folder"},
		{"init run.py", "", "make folder run.py: not a directory; choose another folder"},
		{"serve --host 192.0.2.1 -p 0", "", "cannot assign requested address"},
		{"serve --host unix:nowhere/x", "", "listen on unix:nowhere/x"},
		{"serve -p 0 --metrics-port 0 --metrics-host 192.0.2.1", "", "cannot assign requested address"},
		{"serve -p 0 --auth-token-file nowhere", "", "--auth-token-file nowhere: no such file or directory"},
		{"batching --address nowhere/x", "", "listen for workers on unix nowhere/x"},
		{"batching --address x --host 192.0.2.1", "", "cannot assign requested address"},
	} {
		t.Run(c.line+c.env, func(t *testing.T) {
			t.Parallel()
			got := harness.CLI{Dir: dir, Env: []string{c.env}}.Run(t, strings.Fields(c.line)...)
			assert.Equal(t, "stderr "+got.Stderr, strings.Count(got.Stderr, "\nSee docs/"), 1)
			assert.True(t, got.Code == 2 && got.Stdout == "" && strings.Contains(got.Stderr, c.want),
				"exit code %d, stdout %q; want 2 and %q in %s", got.Code, got.Stdout, c.want, got.Stderr)
		})
	}
}
