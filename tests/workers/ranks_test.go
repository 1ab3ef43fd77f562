package workers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// ranksModel adds numbers over all ranks, through plain sockets. Its inputs make one rank misbehave.
const ranksModel = `
import os, signal, socket, struct, time
import cog

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Group:
    def __init__(self):
        place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        if RANK == 0:
            with socket.create_server(place) as listener:
                self.peers = [listener.accept()[0] for _ in range(WORLD - 1)]
            return
        while True:
            try:
                self.root = socket.create_connection(place)
                return
            except OSError:
                time.sleep(0.01)

    def sum(self, n):
        if RANK == 0:
            n += sum(struct.unpack("q", take(p))[0] for p in self.peers)
            for p in self.peers:
                p.sendall(struct.pack("q", n))
            return n
        self.root.sendall(struct.pack("q", n))
        return struct.unpack("q", take(self.root))[0]


def take(peer):
    data = b""
    while len(data) < 8:
        more = peer.recv(8 - len(data))
        if not more:
            raise ConnectionError("a peer is gone")
        data += more
    return data


def misbehave(how, rank):
    if rank != RANK:
        return
    print(f"rank {RANK}: {how}", flush=True)
    if how == "raise":
        raise ValueError("as asked")
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        os._exit(3)
    if how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "sleep":
        time.sleep(1000)


class Runner(cog.BaseRunner):
    def setup(self):
        misbehave(os.environ.get("HOW", ""), int(os.environ.get("WHO", "-1")))
        Runner.group = Group()
        print(f"set up {RANK} of {WORLD}")

    def run(self, x: int = 1, how: str = "", who: int = -1, all: bool = False) -> list[int]:
        print(f"rank {RANK} has {x}")
        if all:
            raise ValueError("every rank says so")
        misbehave(how, who)
        return [self.group.sum(x), self.group.sum(RANK), WORLD]
`

func ranksOf(t testing.TB, ranks int, model string, o harness.Options) *harness.Server {
	t.Helper()
	o.Dir = harness.NewFolder(t, "run.py", model, "cog.yaml", fmt.Sprintf("run: run.py:Runner\nranks: %d\n", ranks))
	return harness.Ready(t, o)
}

func rankPIDs(s *harness.Server) (pids []int) {
	for _, r := range s.Health().Workers[0].Ranks {
		pids = append(pids, r.PID)
	}
	return pids
}

func wantSums(t *testing.T, a harness.Answer, ranks, x int) {
	t.Helper()
	var got []int
	a.Decode(t, &got)
	assert.EqualSlices(t, "sums", got, []int{x * ranks, ranks * (ranks - 1) / 2, ranks})
}

// TestRanks_RunEachPredictionTogether: all ranks get each input; output and logs are those of rank 0, and the other
// ranks' lines are in the server's log.
func TestRanks_RunEachPredictionTogether(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := ranksOf(t, 3, ranksModel, harness.Options{Python: python.Path, Args: []string{"--queue", "20"}})
		assert.Equal(t, "setup's logs", s.Health().Setup.Logs, "set up 0 of 3\n")
		var answers []<-chan harness.Answer
		for x := range 20 {
			answers = append(answers, s.Begin(fmt.Sprint("p", x), harness.Input{"x": x}))
		}
		for x := range answers {
			a := harness.Receive(t, answers[x])
			wantSums(t, a, 3, x)
			assert.Equal(t, "logs", a.Logs, fmt.Sprintf("rank 0 has %d\n", x))
		}
		line := s.WaitLog("rank 2 has 7")
		assert.Equal(t, "its prediction", line.PredictionID, "p7")
		assert.Contains(t, "its line", line.Raw, `"rank":2`)
		h := s.Health().Workers[0]
		assert.EqualNow(t, "ranks", len(h.Ranks), 3)
		assert.Equal(t, "pid of rank 0", h.Ranks[0].PID, h.PID)
		assert.True(t, h.MemoryBytes >= h.Ranks[1].MemoryBytes+h.Ranks[2].MemoryBytes, "memory: got %+v, want the sum", h)
	})
}

// TestRanks_LargeInputsAreReadByAll: they come in one file.
func TestRanks_LargeInputsAreReadByAll(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 3, `
from __future__ import annotations
import hashlib, os, cog
class Runner(cog.BaseRunner):
    def run(self, text: str, file: cog.Path | None = None) -> str:
        print(os.environ["RANK"], hashlib.md5(text.encode()).hexdigest(), len(file.read_bytes()) if file else 0)
        return text
`, harness.Options{})
	text := strings.Repeat("0123456789", 200_000)
	assert.True(t, s.Succeed(harness.Input{"text": text}).Text(t) == text, "the output is another text")
	s.WaitLog("2 499411682260e00edacbe06cd283fbf4 0")
}

// TestRanks_EnvironmentIsTorchruns: what scripts for torchrun read.
func TestRanks_EnvironmentIsTorchruns(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 2, `
import os, cog
NAMES = ("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE "
    "OMP_NUM_THREADS TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID MASTER_PORT").split()
class Runner(cog.BaseRunner):
    def run(self) -> dict:
        print(" ".join(os.environ[n] for n in NAMES[:12]))
        return {n: os.environ[n] for n in NAMES}
`, harness.Options{})
	var first, second map[string]string
	s.Succeed(harness.Input{}).Decode(t, &first)
	assert.True(t, first["TORCHELASTIC_RUN_ID"] != "", "a run id is expected")
	s.WaitLog("1 1 2 2 127.0.0.1 0 1 1 2 1 0 0")
	s.WaitLog("0 0 2 2 127.0.0.1 0 1 0 2 1 0 0")
	harness.SendSignal(t, rankPIDs(s)[1], syscall.SIGKILL)
	harness.WaitWorkers(t, s, 1, 1)
	s.Succeed(harness.Input{}).Decode(t, &second)
	assert.True(t, first["MASTER_PORT"] != second["MASTER_PORT"], "the port of the next group is the same")
}

// TestRanks_FaultOfOneRankEndsTheGroup: the prediction fails with what happened to which rank, and the next group
// serves what waited.
func TestRanks_FaultOfOneRankEndsTheGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how, want string
		args      []string
	}{
		{"raise", "rank %d: ValueError: as asked", nil},
		{"die", "rank %d died: worker killed (SIGKILL)", nil},
		{"exit", "rank %d died: worker exited with code 3", nil},
		{"stop", "rank %d: it has not answered on its control channel", []string{"--hang-timeout", "1s"}},
		{
			"sleep", "it ran for longer than 1s",
			[]string{"--predict-timeout", "1s", "--cancel-grace", "500ms"},
		},
	} {
		for _, who := range []int{0, 1, 2} {
			t.Run(fmt.Sprint(c.how, " ", who), func(t *testing.T) {
				t.Parallel()
				s := ranksOf(t, 3, ranksModel, harness.Options{Args: append([]string{"--queue", "4"}, c.args...)})
				before := rankPIDs(s)
				failed := s.Begin("faulty", harness.Input{"how": c.how, "who": who})
				s.WaitLog(fmt.Sprintf("rank %d: %s", who, c.how))
				next := s.Begin("next", harness.Input{"x": 5})
				a := harness.Receive(t, failed)
				harness.WantStatus(t, "the faulty one", a, "failed")
				want := c.want
				if strings.Contains(want, "%d") {
					want = fmt.Sprintf(want, who)
				}
				assert.Contains(t, "error", a.Error, want)
				wantSums(t, harness.Receive(t, next), 3, 5)
				for _, pid := range rankPIDs(s) {
					assert.False(t, slices.Contains(before, pid), "process %d of the old group serves", pid)
				}
			})
		}
	}
}

// TestRanks_ErrorOfAllIsTheModels: it names no rank, and the group stays.
func TestRanks_ErrorOfAllIsTheModels(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 3, ranksModel, harness.Options{})
	before := rankPIDs(s)
	for range 20 {
		assert.Equal(t, "error", s.Fail(harness.Input{"all": true}).Error, "ValueError: every rank says so")
	}
	wantSums(t, s.Succeed(harness.Input{"x": 2}), 3, 2)
	assert.EqualSlices(t, "processes", rankPIDs(s), before)
}

// TestRanks_IdleRankThatDiesIsReplaced: whichever it is.
func TestRanks_IdleRankThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 3, ranksModel, harness.Options{Args: []string{"--queue", "4"}})
	for rank := range 3 {
		wantSums(t, s.Succeed(harness.Input{"x": rank}), 3, rank)
		pid := rankPIDs(s)[rank]
		harness.SendSignal(t, pid, syscall.SIGKILL)
		h := harness.WaitWorkers(t, s, 1, rank+1)
		assert.Contains(t, "last exit", h.Workers[0].LastExit, fmt.Sprintf("rank %d died: ", rank), "between predictions")
	}
	wantSums(t, s.Succeed(harness.Input{"x": 9}), 3, 9)
}

// TestRanks_SetupOfOneRankFails: the error names the rank, and the others, which wait for it, are ended.
func TestRanks_SetupOfOneRankFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ how, who, want string }{
		{"raise", "0", "rank 0: ValueError: as asked"},
		{"raise", "2", "rank 2: ValueError: as asked"},
		{"exit", "1", "rank 1 died: worker exited with code 3 during setup"},
		{"sleep", "1", "not ready were rank 0, rank 1"},
	} {
		t.Run(c.how+" "+c.who, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, harness.Options{
				Dir: harness.NewFolder(t, "run.py", ranksModel, "cog.yaml", "run: run.py:Runner\nranks: 3\n"),
				Env: []string{"HOW=" + c.how, "WHO=" + c.who}, Args: []string{"--setup-timeout", "5s"},
			})
			h := s.WaitHealth("SETUP_FAILED")
			assert.Contains(t, "setup's logs", h.Setup.Logs, c.want)
			if c.how == "raise" {
				assert.Contains(t, "setup's logs", h.Setup.Logs, "run.py", "in misbehave")
			}
		})
	}
}

// TestRanks_StopTogether: a group that serves and one that runs a prediction end as one process does.
func TestRanks_StopTogether(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 3, ranksModel+`
import atexit
atexit.register(lambda: print("left", RANK, flush=True))
`, harness.Options{})
	pids := rankPIDs(s)
	s.Succeed(harness.Input{})
	s.Stop()
	for rank, pid := range pids {
		_, ok := s.Log.Find(fmt.Sprint("left ", rank))
		assert.True(t, ok, "rank %d ran no atexit handler", rank)
		_, err := os.Stat(fmt.Sprint("/proc/", pid))
		assert.True(t, os.IsNotExist(err), "rank %d is still there", rank)
	}
}

// TestRanks_ReloadReplacesTheGroup: without a lost prediction, and with the number that cog.yaml has by then.
func TestRanks_ReloadReplacesTheGroup(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 2, ranksModel, harness.Options{Args: []string{"--queue", "4"}})
	wantSums(t, s.Succeed(harness.Input{"x": 1}), 2, 1)
	harness.WriteFile(t, s.Dir+"/cog.yaml", "run: run.py:Runner\nranks: 4\n")
	harness.SendSignal(t, s.PID, syscall.SIGHUP)
	harness.WaitWorkers(t, s, 1, 1)
	wantSums(t, s.Succeed(harness.Input{"x": 1}), 4, 1)
}

// TestRanks_DecoratorSaysHowMany: the model's code says it, and the flag overrides it.
func TestRanks_DecoratorSaysHowMany(t *testing.T) {
	t.Parallel()
	const model = `
import os, cog
@cog.ranks(3)
class Runner(cog.BaseRunner):
    def setup(self): print("set up")
    def run(self) -> str: return os.environ.get("WORLD_SIZE", "none")
`
	dir := harness.NewFolder(t, "run.py", model)
	s := harness.Ready(t, harness.Options{Dir: dir})
	assert.Equal(t, "ranks", s.Succeed(harness.Input{}).Text(t), "3")
	h := s.Health()
	assert.Equal(t, "restarts", h.Workers[0].Restarts, 0)
	assert.Equal(t, "last exit", h.Workers[0].LastExit, "")
	one := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--ranks", "1"}})
	assert.Equal(t, "ranks", one.Succeed(harness.Input{}).Text(t), "none")
}

// TestRanks_TakenPortIsReplaced: another process listens at MASTER_PORT, so the setup is tried again, five times at most.
func TestRanks_TakenPortIsReplaced(t *testing.T) {
	t.Parallel()
	for _, taken := range []int{2, 6} {
		t.Run(fmt.Sprint(taken), func(t *testing.T) {
			t.Parallel()
			s := startOnTakenPorts(t, taken)
			if taken > 5 {
				h := s.WaitHealth("SETUP_FAILED")
				assert.Contains(t, "setup's logs", h.Setup.Logs, "rank 0: OSError", "Address already in use")
				return
			}
			s.WaitHealth("READY")
			assert.Equal(t, "tries", strings.Count(s.Succeed(harness.Input{}).Text(t), "\n"), taken+1)
		})
	}
}

// startOnTakenPorts starts a server, and takes the first ports of its group.
func startOnTakenPorts(t *testing.T, count int) *harness.Server {
	t.Helper()
	dir := harness.NewFolder(t, "cog.yaml", "run: run.py:Runner\nranks: 2\n", "run.py", `
import os, socket, subprocess, sys, time
import cog
class Runner(cog.BaseRunner):
    def setup(self):
        port = int(os.environ["MASTER_PORT"])
        if os.environ["RANK"] == "1":
            return
        with open("tries", "a+") as f:
            f.write(f"{port}\n")
        if len(open("tries").readlines()) <= int(os.environ["TAKEN"]):
            open("take", "w").write(str(port))
            while not os.path.exists(f"taken-{port}"):
                time.sleep(0.01)
        socket.create_server(("127.0.0.1", port))
    def run(self) -> str:
        return open("tries").read()
`)
	s := harness.Start(t, harness.Options{Dir: dir, Env: []string{fmt.Sprint("TAKEN=", count)}})
	for range count {
		var port string
		assert.Eventually(t, "a setup has a port", func() bool {
			text, err := os.ReadFile(dir + "/take")
			port = string(text)
			return err == nil && port != ""
		})
		listener := assert.Must(net.Listen("tcp", "127.0.0.1:"+port))(t)
		t.Cleanup(func() { listener.Close() })
		assert.NoError(t, os.Remove(dir+"/take"))
		harness.WriteFile(t, dir+"/taken-"+port, "")
	}
	return s
}

// TestRanks_AreRefused: before anything is served, with what to do.
func TestRanks_AreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		yaml string
		args []string
		want []string
	}{
		{"ranks: 0", nil, []string{"cog.yaml:2", "invalid value 0", "from 1 to 64"}},
		{"ranks: 65", nil, []string{"invalid value 65"}},
		{"ranks: two", nil, []string{"ranks"}},
		{"", []string{"--ranks", "0"}, []string{"ranks", "1 to 64"}},
		{"", []string{"--ranks", "65"}, []string{"ranks", "1 to 64"}},
		{"ranks: 2", []string{"--preload"}, []string{"--preload cannot be combined with ranks", "RANK", "leave --preload out"}},
		{"ranks: 2", []string{"--concurrency", "4"}, []string{"--concurrency 4 cannot be combined with ranks", "--workers"}},
		{"concurrency:\n  max: 3\nranks: 2", nil, []string{"concurrency.max: 3 cannot be combined with ranks"}},
		{"ranks: 4", []string{"--gpus", "each"}, []string{"4 ranks need a GPU each, but 2 are visible (0,1)"}},
	} {
		code, text := harness.Refused(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", ranksModel, "cog.yaml", "run: run.py:Runner\n"+c.yaml+"\n"), Args: c.args,
			Env: []string{"CUDA_VISIBLE_DEVICES=0,1"},
		})
		assert.True(t, code != 0, "%s %v: code is 0", c.yaml, c.args)
		assert.Contains(t, fmt.Sprint(c.yaml, c.args), text, c.want...)
	}
}

// TestRanks_GroupsShareTheGPUs: each group sees its own, and a rank finds its GPU by LOCAL_RANK.
func TestRanks_GroupsShareTheGPUs(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 2, `
import os, time, cog
class Runner(cog.BaseRunner):
    def run(self) -> str:
        return os.environ["CUDA_VISIBLE_DEVICES"] + " " + os.environ["LOCAL_RANK"]
`, harness.Options{Args: []string{"--gpus", "each"}, Env: []string{"CUDA_VISIBLE_DEVICES=0,1,2,3", "PINION_CUDA=off"}})
	h := s.Health()
	assert.EqualNow(t, "workers", len(h.Workers), 2)
	assert.Equal(t, "GPUs", h.Workers[0].Device+" "+h.Workers[1].Device, "0,1 2,3")
	got := s.Succeed(harness.Input{}).Text(t)
	assert.True(t, got == "0,1 0" || got == "2,3 0", "GPUs of rank 0: got %q", got)
}

// TestRanks_StacksOfAllRanks: the live view shows them, and so does the log before the group is ended.
func TestRanks_StacksOfAllRanks(t *testing.T) {
	t.Parallel()
	s := ranksOf(t, 2, ranksModel, harness.Options{Args: []string{"--reload", "--cancel-grace", "500ms"}})
	answer := s.Begin("sleeps", harness.Input{"how": "sleep", "who": 1})
	s.WaitLog("rank 1: sleep")
	var text string
	assert.Eventually(t, "the live view shows both stacks", func() bool {
		a := s.Do(http.MethodPost, "/dashboard/stack?kind=prediction&id=sleeps", nil)
		text = string(a.Body)
		return strings.Contains(text, "in misbehave") && strings.Contains(text, "in take")
	})
	assert.Contains(t, "stacks", text, "Rank 0:", "in take", "Rank 1:", "in misbehave")
	s.Cancel("sleeps")
	a := harness.Receive(t, answer)
	harness.WantStatus(t, "the one that is canceled", a, "canceled")
	line, ok := s.Log.First(func(l harness.Line) bool { return l.Text == "what the ranks do" })
	assert.True(t, ok, "the log has no stacks")
	assert.Contains(t, "the log", line.Raw, "in take", "Rank 1:", "in misbehave")
}
