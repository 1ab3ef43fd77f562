package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// listedServer is a server in the output of 'pinion ps --json'.
type listedServer struct {
	PID             int
	Address, Status string
	Models          []struct{ Name, Folder string }
}

func listServers(t *testing.T, c harness.CLI) (servers []listedServer) {
	t.Helper()
	harness.FromJSON(t, c.Good(t, "ps", "--json"), &servers)
	return servers
}

// TestServers_AreListedAndStopped by process id, port, model and folder.
func TestServers_AreListedAndStopped(t *testing.T) {
	t.Parallel()
	tmp := harness.ShortTempDir(t)
	c := harness.CLI{Dir: t.TempDir(), Env: []string{"TMPDIR=" + tmp}}
	assert.Equal(t, "nothing runs", c.Good(t, "ps"), "no server of yours runs\n")
	assert.Equal(t, "nothing runs, as JSON", c.Good(t, "ps", "--json"), "[]\n")
	assert.Contains(t, "nothing to stop", c.Bad(t, 2, "stop"), "no server of yours runs here", tmp)
	model := "def run() -> int: return 1\n"
	var servers []*harness.Server
	for range 3 {
		servers = append(servers, harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", model), Tmp: tmp}))
	}
	listed := listServers(t, c)
	assert.TrueNow(t, len(listed) == 3, "got %d servers, want 3: %v", len(listed), listed)
	for i, s := range servers {
		assert.Equal(t, "address", listed[i].Address, s.Address)
		assert.Equal(t, "folder", listed[i].Models[0].Folder, s.Dir)
		assert.Equal(t, "status", listed[i].Status, "READY")
	}
	assert.Contains(t, "the table", c.Good(t, "ps"), "STATUS", servers[1].Address, "READY", servers[2].Dir)
	assert.Contains(t, "which one", c.Bad(t, 2, "stop"), "name one server by its process id", servers[1].Address)
	assert.Contains(t, "no such one", c.Bad(t, 2, "stop", "nothing"), `no server of yours is called "nothing"`, servers[0].Address)
	assert.Contains(t, "two", c.Bad(t, 2, "stop", "a", "b"), "takes one server, not a, b")
	offered := c.Good(t, "__complete", "stop", "")
	for _, s := range servers {
		assert.Contains(t, "what shells complete", offered, s.Address[strings.LastIndex(s.Address, ":")+1:]+"\t")
	}
	port := servers[0].Address[strings.LastIndex(servers[0].Address, ":")+1:]
	assert.Contains(t, "by port", c.Good(t, "stop", port),
		fmt.Sprintf("stopped %d, %s", listed[0].PID, servers[0].Address))
	assert.Contains(t, "by folder", c.Good(t, "stop", servers[1].Dir), fmt.Sprint("stopped ", listed[1].PID))
	assert.Contains(t, "the only one", c.Good(t, "stop"), fmt.Sprint("stopped ", listed[2].PID))
	for _, s := range servers {
		s.Ended(0)
	}
	assert.Equal(t, "nothing runs now", c.Good(t, "ps"), "no server of yours runs\n")
}

// TestServers_UnixSocket is asked for its health too, and has the name of --model.
func TestServers_UnixSocket(t *testing.T) {
	t.Parallel()
	tmp := harness.ShortTempDir(t)
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n"), Env: []string{"TMPDIR=" + tmp}}
	server, _, _ := c.Start(t, "serve", "--host", "unix:"+filepath.Join(tmp, "s.sock"), "--model", "painter")
	harness.StartCommand(t, server)
	assert.Eventually(t, "it is ready", func() bool {
		listed := listServers(t, c)
		return len(listed) == 1 && listed[0].Status == "READY"
	})
	assert.Contains(t, "to stop", c.Good(t, "stop", "painter"), "unix:"+filepath.Join(tmp, "s.sock"))
	endWell(t, server)
}

// TestServers_IgnoredSIGTERM does not keep a server from being stopped.
func TestServers_IgnoredSIGTERM(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:run", Args: []string{"--await-explicit-shutdown"}})
	c := harness.CLI{Env: []string{"TMPDIR=" + s.Tmp}}
	c.Good(t, "stop")
	s.Ended(0)
}

// TestServers_RunFolderIsRemoved: the server is listed again once it has made its folder again.
func TestServers_RunFolderIsRemoved(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", copyingModel)})
	c := harness.CLI{Env: []string{"TMPDIR=" + s.Tmp}}
	assert.NoError(t, os.RemoveAll(runFolder(t, s)))
	assert.Equal(t, "without its folder", len(listServers(t, c)), 0)
	s.Succeed(harness.Input{"file": helloURL})
	assert.Equal(t, "with its folder", len(listServers(t, c)), 1)
}

// TestServers_LeftoversAreNotListed: what a killed server left, also where another process has its number, and what
// somebody else wrote.
func TestServers_LeftoversAreNotListed(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	for i, text := range []string{
		fmt.Sprintf(`{"pid": %d, "address": "http://127.0.0.1:1"}`, os.Getpid()), `{"pid": -1}`, `{"pid": 0}`, "{", "",
	} {
		dir := filepath.Join(tmp, fmt.Sprint("pinion-run-", i))
		assert.NoError(t, os.Mkdir(dir, 0o700))
		for name, content := range map[string]string{"server.json": text, "lock": ""} {
			harness.WriteFile(t, filepath.Join(dir, name), content)
		}
	}
	c := harness.CLI{Env: []string{"TMPDIR=" + tmp}}
	assert.Equal(t, "the list", c.Good(t, "ps"), "no server of yours runs\n")
	assert.Contains(t, "to stop", c.Bad(t, 2, "stop", fmt.Sprint(os.Getpid())), "no server of yours runs here",
		fmt.Sprintf("it is process %d (", os.Getpid()), "another TMPDIR or in a container")
}

// TestServers_OfAnotherUser: stop and logs say whose it is.
func TestServers_OfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root has another user's processes")
	}
	s := harness.Ready(t, harness.Options{Model: "echo.py:run"})
	port := s.Address[strings.LastIndex(s.Address, ":")+1:]
	c := harness.CLI{Env: []string{"TMPDIR=" + harness.ShortTempDir(t)}}
	assert.Contains(t, "another TMPDIR", c.Bad(t, 2, "stop", port), fmt.Sprintf("it is process %d (", s.PID))
	for what, word := range map[string]string{"port": port, "process": fmt.Sprint(s.PID)} {
		for _, command := range []string{"stop", "logs"} {
			cmd, _, stderr := c.Start(t, command, word)
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
			err := cmd.Run()
			if errors.Is(err, fs.ErrPermission) {
				t.Skipf("another user cannot run %s", cmd.Path)
			}
			assert.True(t, cmd.ProcessState.ExitCode() == 2, "%s by its %s ended with %v, want 2", command, what, err)
			assert.Contains(t, command+" by its "+what, stderr.String(), "of user root; run this as that user")
		}
	}
}

// TestServers_Logs prints the end of a log in a file, follows it until the server ends, and says where another log
// goes.
func TestServers_Logs(t *testing.T) {
	t.Parallel()
	piped := harness.Ready(t, harness.Options{Model: "echo.py:run"})
	c := harness.CLI{Env: []string{"TMPDIR=" + piped.Tmp}}
	assert.Contains(t, "a pipe", c.Bad(t, 1, "logs"), "goes to pipe:", "2>server.log")
	tmp := harness.ShortTempDir(t)
	c = harness.CLI{Dir: harness.NewFolder(t, "run.py", `
from cog import BaseRunner
class Runner(BaseRunner):
    def setup(self): print("one"); print("two")
    def run(self) -> int: return 1
`), Env: []string{"TMPDIR=" + tmp}}
	server, _, _ := c.Start(t, "serve", "-p", "0", "--log-format", "console")
	log := assert.Must(os.Create(filepath.Join(c.Dir, "server.log")))(t)
	defer log.Close()
	server.Stderr = log
	harness.StartCommand(t, server)
	assert.Eventually(t, "it is ready", func() bool {
		listed := listServers(t, c)
		return len(listed) == 1 && listed[0].Status == "READY"
	})
	assert.Contains(t, "its log", c.Good(t, "logs"), "listening", "one", "two")
	assert.Equal(t, "one line", strings.Count(c.Good(t, "logs", "-n", "1"), "\n"), 1)
	assert.Equal(t, "no line", c.Good(t, "logs", "-n", "0"), "")
	assert.Contains(t, "a bad number", c.Bad(t, 2, "logs", "-n", "-1"), "--lines -1: must be at least 0")
	following, _, _ := c.Start(t, "logs", "--follow", "-n", "1")
	followed := &harness.Log{}
	following.Stdout = followed
	harness.StartCommand(t, following)
	assert.Eventually(t, "the log is followed", func() bool { return followed.String() != "" })
	c.Good(t, "stop", c.Dir)
	endWell(t, server)
	endWell(t, following)
	assert.Contains(t, "what it followed", followed.String(), "stopped")
}

func endWell(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Wait()
	assert.True(t, err == nil, "%v: got %v, want no error", cmd.Args, err)
}
