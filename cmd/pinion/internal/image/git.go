package image

import (
	"os/exec"
	"strings"
	"time"

	"pinion/cmd/pinion/internal/process"
)

// gitLimit is how long git may take to name the commit.
const gitLimit = 10 * time.Second

var urlCredentials = pattern(`^(https?://)[^/@]*@`)

// FindGit finds the commit of a folder and where its repository is kept; none where git does not know.
func (o *Options) FindGit(dir string) {
	ask := func(args ...string) string {
		out, err := process.Output(exec.Command("git", append([]string{"-C", dir}, args...)...), gitLimit)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	o.Revision = ask("rev-parse", "--verify", "--quiet", "HEAD")
	if o.Revision == "" {
		return
	}
	if ask("status", "--porcelain", "--untracked-files=no", "--", ".") != "" {
		o.Revision += "-dirty"
	}
	o.Repository = urlCredentials().ReplaceAllString(ask("remote", "get-url", "origin"), "$1")
}
