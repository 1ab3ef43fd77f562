package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSite_PublishKeepsVersionsApart publishes two releases and a candidate to a repository without any.
func TestSite_PublishKeepsVersionsApart(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", args...).CombinedOutput()
		assert.NoError(t, err, "git", args, out)
		return string(out)
	}
	if out, err := exec.Command("git", "-C", "..", "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("this is not a checkout of git: %v\n%s", err, out)
	}
	origin, clone := filepath.Join(dir, "origin"), filepath.Join(dir, "clone")
	git("clone", "--quiet", "--bare", "--shared", "..", origin)
	git("clone", "--quiet", "--shared", origin, clone)
	assert.NoError(t, os.Symlink(harness.Absolute(t, "../.cache"), filepath.Join(clone, ".cache")))
	for _, version := range []string{"1.2.2", "1.2.3", "1.3.0-rc.1"} {
		publish := exec.Command(filepath.Join(clone, "build.sh"), "site", "--publish", version)
		// Git knows no committer, as in a workflow.
		publish.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := publish.CombinedOutput()
		assert.NoError(t, err, "publish", version, out)
	}
	var versions []struct {
		Version string
		Aliases []string
	}
	harness.FromJSON(t, git("-C", origin, "show", "gh-pages:versions.json"), &versions)
	for _, v := range versions {
		assert.Equal(t, "the aliases of "+v.Version,
			strings.Join(v.Aliases, " "), map[string]string{"1.2.3": "latest"}[v.Version])
		git("-C", origin, "cat-file", "-e", "gh-pages:"+v.Version+"/how-to/install/index.html")
		git("-C", origin, "cat-file", "-e", "gh-pages:"+v.Version+"/search/search_index.json")
	}
	assert.True(t, len(versions) == 3, "got %d versions, want 3: %+v", len(versions), versions)
	assert.Contains(t, "a root that does not lead to latest/", git("-C", origin, "show", "gh-pages:index.html"), "latest/")
}

// TestSite_NothingIsCut looks at each page in a browser as wide as a phone, a laptop and a large screen.
func TestSite_NothingIsCut(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	python := harness.Tool(t, "venvs/playwright/bin/python")
	chromium := harness.Tool(t, "", "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable",
		"google-chrome")
	site := filepath.Join(t.TempDir(), "site")
	out, err := exec.Command("../build.sh", "site", site).CombinedOutput()
	assert.NoError(t, err, out)
	home := harness.ReadFile(t, filepath.Join(site, "index.html"))
	for _, has := range []string{"It is one Go binary", "./build.sh install", "explanation/architecture.svg"} {
		assert.Contains(t, "the site's home", home, has)
	}
	cut, err := exec.Command(python, "-B", "browser/site.py", chromium, site).CombinedOutput()
	assert.NoError(t, err, cut)
	assert.Equal(t, "what is cut", string(cut), "")
}
