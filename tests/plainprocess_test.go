package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/harness"
)

const facts = `import gc, json, locale, os, resource, signal, sys, time


def pending():
    """Return which signals wait while this thread, the only one of plain Python, blocks them."""
    numbers = [signal.SIGUSR2, signal.SIGALRM, signal.SIGRTMAX]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    for number in numbers:
        os.kill(os.getpid(), number)
    waiting = sorted(signal.sigpending())
    for number in numbers:
        signal.sigtimedwait([number], 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return waiting


def facts():
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}
    handlers = {}
    for number in range(1, signal.NSIG):
        try:
            handlers[str(number)] = str(signal.getsignal(number))
        except ValueError:
            pass
    handlers.pop(str(int(signal.SIGINT)), None)  # Python's KeyboardInterrupt
    handlers.pop(str(int(signal.SIGUSR1)), None)  # cancels
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)  # children of the model import the same cog
    umask = os.umask(0)
    os.umask(umask)
    return {
        "cwd": os.getcwd(), "environment": environment, "arguments": sys.argv[1:], "program": sys.orig_argv[0],
        "original": sys.orig_argv[1:] == sys.argv,
        "masks": {name: status[name].strip() for name in ("SigBlk", "SigPnd", "ShdPnd")},
        "pending": pending(), "limits": limits, "handlers": handlers, "umask": umask,
        "locale": locale.setlocale(locale.LC_ALL),
        "nice": os.getpriority(os.PRIO_PROCESS, 0), "policy": os.sched_getscheduler(0), "cpus": sorted(os.sched_getaffinity(0)),
        "personality": open("/proc/self/personality").read(), "coredump_filter": open("/proc/self/coredump_filter").read(),
        "privileges": [status[name].strip() for name in ("Uid", "Gid", "CapEff", "NoNewPrivs", "Seccomp") if name in status],
    }


if __name__ == "__main__":
    print(json.dumps(facts()))
`

const factsModel = `from cog import BaseRunner
from facts import facts


class Sync(BaseRunner):
    def run(self) -> dict:
        return facts()


class Async(BaseRunner):
    async def run(self) -> dict:
        return facts()
`

// TestWorker_IsAProcessAsPlainPythons: Go takes every signal and raises the limit of open files; the model sees what
// the server inherited. By design other are SIGINT's and SIGUSR1's handlers, PYTHONPATH, the timer slack (1 ns), the
// command line that ps shows, and the descriptors of the channels.
func TestWorker_IsAProcessAsPlainPythons(t *testing.T) {
	t.Parallel()
	dir := folder(t, "facts.py", facts, "run.py", factsModel)
	shell := []string{"/bin/sh", "-c", `trap "" HUP; ulimit -S -n 1000; exec "$@"`, "sh"}
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range [][]string{{"Sync"}, {"Async"}, {"Sync", "--preload"}} {
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Dir: dir, Model: "run.py:" + c[0], Args: c[1:],
				Wrap: shell,
			})
			environ := strings.Split(strings.TrimSuffix(readFile(t, fmt.Sprintf("/proc/%d/environ", s.PID)), "\x00"), "\x00")
			want := harness.RunPython(t, shell[0], dir, environ, append(shell[1:], python.Path, "facts.py")...)
			sameJSON(t, strings.Join(c, " "), s.Succeed(input{}).Output, string(want))
		}
	})
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
	library := sharedLibrary(t, "ending.so", "models/ending.c")
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range [][]string{{"Sync"}, {"Async"}, {"Batch"}, {"Sync", "--preload"}} {
			dir := folder(t, "run.py", ending)
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Dir: dir, Model: "run.py:" + c[0], Args: c[1:],
				Env: []string{"ENDING=" + library},
			})
			s.Succeed(input{"text": "a"})
			s.Stop()
			for _, name := range []string{"atexit", "destructor", "destroyed", "released"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Errorf("%v: %v, want the file that the end of the worker makes", c, err)
				}
			}
		}
	})
}
