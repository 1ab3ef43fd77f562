package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// inFolder runs a command there, which is to end well, and returns what it printed.
func inFolder(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, words, out)
	return strings.TrimSpace(string(out))
}

// TestStamp_BuildOfCleanCloneSaysItsCommit, also where the clone was copied, touched, made with other modes, or built
// in before; a change of a tracked file is marked.
func TestStamp_BuildOfCleanCloneSaysItsCommit(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	if err := exec.Command("git", "-C", "..", "rev-parse", "HEAD").Run(); err != nil {
		t.Skipf("this is not a checkout of git: %v", err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	inFolder(t, ".", "git", "clone", "-q", "--no-hardlinks", "..", clone)
	scripts := inFolder(t, "..", "git", "ls-files", "--cached", "--others", "--exclude-standard", "build.sh", "deploy/*.sh",
		"tests/*.sh")
	for _, name := range strings.Fields(scripts) { // as they are here, committed or not
		text, err := os.ReadFile(filepath.Join("..", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(clone, name), text, 0o755)
		}
		assert.NoError(t, err)
	}
	inFolder(t, clone, "git", "commit", "-q", "--allow-empty", "-am", "build")
	commit := inFolder(t, clone, "git", "rev-parse", "--short=12", "HEAD")
	is := func(what string, dirty bool) {
		t.Helper()
		stamp := " " + inFolder(t, clone, "./build.sh", "stamp") + " "
		want := "version.Commit=" + commit
		if dirty {
			want += "-dirty"
		}
		assert.Contains(t, what+": the stamp", strings.ReplaceAll(stamp, " -X ", " "), want+" ")
	}

	inFolder(t, clone, "./build.sh", "build")
	assert.Contains(t, fmt.Sprintf("the binary of commit %s says", commit), inFolder(t, clone, "bin/pinion", "version"),
		"(commit "+commit+",")
	is("after a build", false)
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"go.mod", "README.md", "cmd/pinion/main.go"} {
		assert.NoError(t, os.Chtimes(filepath.Join(clone, name), later, later))
	}
	is("touched files", false)
	copied := clone + "-copied"
	inFolder(t, ".", "cp", "-r", clone, copied)
	clone = copied
	is("a copy", false)
	inFolder(t, clone, "chmod", "-R", "a+rwx", "cmd", "go.mod", "README.md")
	is("other modes", false)
	harness.WriteFile(t, filepath.Join(clone, "notes.txt"), "")
	is("a file that is not git's", false)
	harness.WriteFile(t, filepath.Join(clone, "README.md"), "changed")
	is("a changed file", true)
}
