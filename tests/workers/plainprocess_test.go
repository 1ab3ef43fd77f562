package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const facts = `import asyncio, collections, json, locale, os, re, resource, signal, sys, threading


def pending():
    """Return which signals wait while this thread, the only one of plain Python, blocks them."""
    stop = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT}
    numbers = signal.valid_signals() - stop - {signal.SIGUSR1}  # which cancels a prediction
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    for number in numbers:  # which another thread, that does not block it, would take
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), number)
        else:
            signal.pthread_kill(threading.get_ident(), number)
    waiting = sorted(signal.sigpending())
    while signal.sigtimedwait(numbers, 0):
        pass
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return waiting


def read(name):
    with open("/proc/self/" + name) as f:
        return f.read().strip("\0\n")


def descriptors():
    """Return how many descriptors of each kind are open."""
    kinds = collections.Counter()
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + fd)
        except FileNotFoundError:  # the folder's own
            continue
        kinds["descriptors " + re.sub(r":\[\d+\]$", "", target)] += 1
    return kinds


def facts():
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}
    handlers = {}
    for number in range(1, signal.NSIG):
        try:
            handler = signal.getsignal(number)
        except ValueError:
            continue
        handlers[f"handler of {number}"] = getattr(handler, "__name__", str(handler))
    caught = int(status["SigCgt"], 16) & (1 << 31) - 1  # those above are glibc's own
    environment = dict(os.environ)
    search = environment.pop("PYTHONPATH", None)
    umask = os.umask(0)
    os.umask(umask)
    return handlers | descriptors() | {
        "cwd": os.getcwd(), "environment": environment, "PYTHONPATH": search, "arguments": sys.argv[1:], "program": sys.orig_argv[0],
        "original": sys.orig_argv[1:] == sys.argv,
        "masks": {name: status[name].strip() for name in ("SigBlk", "SigPnd", "ShdPnd")},
        "pending": pending(), "limits": limits, "umask": umask,
        "caught": [number for number in range(1, 32) if caught >> number - 1 & 1],
        "streams": [repr(stream) for f in (sys.stdin, sys.stdout, sys.stderr) for stream in (f, f.buffer)],
        "name": read("comm"), "command line": read("cmdline"), "executable": os.readlink("/proc/self/exe"),
        "timer slack": read("timerslack_ns"), "oom_score_adj": read("oom_score_adj"),
        "leads a group": os.getpgrp() == os.getpid(), "leads a session": os.getsid(0) == os.getpid(),
        "locale": locale.setlocale(locale.LC_ALL),
        "nice": os.getpriority(os.PRIO_PROCESS, 0), "policy": os.sched_getscheduler(0), "cpus": sorted(os.sched_getaffinity(0)),
        "personality": read("personality"), "coredump_filter": read("coredump_filter"),
        "privileges": [status[name].strip() for name in ("Uid", "Gid", "CapEff", "NoNewPrivs", "Seccomp") if name in status],
    }


async def async_facts():
    return facts()


if __name__ == "__main__":
    kind = sys.argv.pop()
    sys.orig_argv.pop()
    if kind == "Threads":
        thread = threading.Thread(target=lambda: print(json.dumps(facts())))
        thread.start()
        thread.join()
    else:
        print(json.dumps(asyncio.run(async_facts()) if kind == "Async" else facts()))
`

const factsModel = `from cog import BaseRunner
from facts import facts


class Sync(BaseRunner):
    def run(self) -> dict:
        return facts()


class Threads(Sync):
    pass


class Async(BaseRunner):
    async def run(self) -> dict:
        return facts()
`

// byDesign is what a model sees that it does not in plain Python: docs/explanation/worker-process.md tells users.
var byDesign = []struct {
	fact   string
	worker any     // what it is in a worker; nil means more, or anything
	more   float64 // how many more descriptors a worker has
	reason string
}{
	{"descriptors pipe", nil, 2, "the log's, which stay where the model closes or redirects its own"},
	{"descriptors socket", nil, 2, "the channels to the front: the worker's, and one for each prediction at once"},
	{"descriptors anon_inode:[eventpoll]", nil, 1, "what the worker waits with"},
	{"descriptors anon_inode:[eventfd]", nil, 1, "what ends that wait"},
	{"descriptors anon_inode:[timerfd]", nil, 1, "the time of the next flush"},
	{"descriptors /memfd:stack (deleted)", nil, 1, "where the fault handler writes the stack that somebody asks for"},
	{"PYTHONPATH", nil, 0, "children of the model import the same cog"},
	{"handler of 2", "default_int_handler", 0, "asyncio.run has its own; a worker's loop is ended by the server"},
	{"handler of 10", "on_cancel", 0, "SIGUSR1 cancels a prediction"},
	{
		"caught",
		[]any{2.0, 4.0, 6.0, 7.0, 8.0, 10.0, 11.0},
		0,
		"SIGUSR1 cancels; faulthandler's log where a worker crashed",
	},
	{"name", "pinion", 0, "ps and top show it"},
	{"command line", "pinion: worker", 0, "ps shows it"},
	{"executable", nil, 0, "it is the server's; sys.executable is Python's"},
	{"timer slack", "1", 0, "waits of the model and of its event loop end on time"},
	{"oom_score_adj", nil, 0, "the kernel ends a worker before the server; each worker's is another, which tells its children"},
	{"leads a group", true, 0, "the terminal's signals reach the server, which ends the group with the worker"},
}

// byThreads is what differs from byDesign where each of two slots has a thread.
var byThreads = map[string]any{
	"descriptors socket": 3.0, "descriptors anon_inode:[eventfd]": 2.0, // a channel and a wake-up for each slot
	"caught": []any{2.0, 4.0, 6.0, 7.0, 8.0, 11.0}, // no signal cancels
}

// TestWorker_IsProcessAsPlainPythons: Go takes every signal, raises the limit of open files and opens files; the model
// sees what the server inherited, but for byDesign.
func TestWorker_IsProcessAsPlainPythons(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "facts.py", facts, "run.py", factsModel)
	shell := []string{"/bin/sh", "-c", `trap "" HUP; ulimit -S -n 1000; exec "$@"`, "sh"}
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range [][]string{{"Sync"}, {"Async"}, {"Sync", "--preload"}, {"Threads", "--concurrency", "2"}} {
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Dir: dir, Model: "run.py:" + c[0], Args: c[1:], Wrap: shell,
			})
			environ := strings.Split(strings.TrimSuffix(harness.ReadFile(t, fmt.Sprintf("/proc/%d/environ", s.PID)), "\x00"),
				"\x00")
			plain := harness.RunPython(t, shell[0], dir, environ, append(shell[1:], python.Path, "facts.py", c[0])...)
			sameFacts(t, strings.Join(c, " "), s.Succeed(harness.Input{}).Output, plain)
		}
	})
}

// sameFacts compares what a worker sees with what plain Python does.
func sameFacts(t *testing.T, what string, worker, plain []byte) {
	t.Helper()
	threads := strings.HasPrefix(what, "Threads")
	var got, want map[string]any
	assert.NoError(t, errors.Join(json.Unmarshal(worker, &got), json.Unmarshal(plain, &want)),
		what, "in", worker, "or", plain)
	for _, d := range byDesign {
		if other, ok := byThreads[d.fact]; ok && threads {
			want[d.fact] = other
			continue
		}
		switch {
		case threads && d.fact == "handler of 10": // the default one, as plain Python spells it
		case d.more > 0:
			had, _ := want[d.fact].(float64)
			want[d.fact] = had + d.more
		case d.worker != nil:
			want[d.fact] = d.worker
		default:
			want[d.fact] = got[d.fact]
		}
	}
	for fact := range want {
		_, ok := got[fact]
		assert.True(t, ok, "%s: %s: got none, want %v", what, fact, want[fact])
	}
	for fact := range got {
		assert.True(t, reflect.DeepEqual(got[fact], want[fact]), "%s: %s: got %v, want %v", what, fact, got[fact], want[fact])
	}
}

const ending = `import ctypes, os, sys
from cog import BaseRunner, batch

ctypes.CDLL(os.environ["ENDING"])


class Cycle:
    def __init__(self):
        self.itself = self
    def __del__(self, open=open):
        open("destroyed", "w").close()


class Held:
    def __del__(self, open=open):
        open("released", "w").close()


sys.cycle = Cycle()
held = Held()


class Sync(BaseRunner):
    def run(self, text: str) -> str:
        return text


class Async(BaseRunner):
    async def run(self, text: str) -> str:
        return text


class Batch(BaseRunner):
    @batch(max_size=2)
    def run(self, text: list[str]) -> list[str]:
        return text
`

// TestWorker_EndsAsPlainPythons: what C code registered by atexit runs, and what is in cycles and in the model's module
// is destroyed.
func TestWorker_EndsAsPlainPythons(t *testing.T) {
	t.Parallel()
	library := harness.SharedLibrary(t, "ending.so", "models/ending.c")
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range [][]string{{"Sync"}, {"Async"}, {"Batch"}, {"Sync", "--preload"}, {"Sync", "--concurrency", "2"}} {
			dir := harness.NewFolder(t, "run.py", ending)
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Dir: dir, Model: "run.py:" + c[0], Args: c[1:], Env: []string{"ENDING=" + library},
			})
			s.Succeed(harness.Input{"text": "a"})
			s.Stop()
			for _, name := range []string{"atexit", "destructor", "destroyed", "released"} {
				_, err := os.Stat(filepath.Join(dir, name))
				assert.True(t, err == nil, "%v: %v, want the file that the end of the worker makes", c, err)
			}
		}
	})
}
