package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// foreignFlags are flags of other programs that the documents name.
var foreignFlags = []string{
	"--set", // helm
	"--build-context", "--bundle", "--cap-add", "--capacity", "--compressed", "--default-non-nullable", "--from-literal",
	"--ignore-missing", "--leave-sockets", "--max-request-size", "--network",
	"--oom-score-adj", "--patch-file", "--pid", "--pids-limit", "--pull", "--read-only", "--threads", "--time", "--tmpfs",
	"--transport", // claude
}

// allDocuments are the documents for users, and of the examples.
func allDocuments(t *testing.T) map[string]string {
	t.Helper()
	found := contents(t, "../*.md", "../docs/*.md", "../docs/*/*.md", "../examples/*/README.md", "../ipc/*.md",
		"../third_party/*/*.md", "../pyembed/*/*.md")
	assert.TrueNow(t, len(found) >= 15, "only %d documents, want at least 15", len(found))
	return found
}

// contents are the texts of the files of these patterns.
func contents(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range patterns {
		paths := assert.Must(filepath.Glob(pattern))(t)
		for _, path := range paths {
			text := harness.ReadFile(t, path)
			found[path] = text
		}
	}
	return found
}

// TestNames_FlagsThatDocumentsName are flags of some command.
func TestNames_FlagsThatDocumentsName(t *testing.T) {
	t.Parallel()
	help := harness.CLI{}.Good(t, "help") + harness.CLI{}.Good(t, "help", "serve", "all")
	for _, command := range []string{
		"serve", "predict", "train", "schema", "check", "bench", "init", "dockerfile",
		"build", "doctor", "batching", "gateway", "ps", "stop", "logs", "version",
	} {
		help += harness.CLI{}.Good(t, "help", command)
	}
	for _, command := range []string{"list", "show", "cancel", "retry", "purge", "apply"} {
		help += harness.CLI{}.Good(t, "help", "jobs", command)
	}
	for _, command := range []string{"pull", "status", "verify", "lock", "prune"} {
		help += harness.CLI{}.Good(t, "help", "weights", command)
	}
	// The scripts of bench/ and build.sh have their own flags, in their usage texts.
	for _, text := range contents(t, "../build.sh", "../deploy/*.sh", "../bench/*.sh", "../bench/*.py", "../bench/*/*.go",
		"../bench/*/*.py", "../examples/*/*.py") {
		help += text
	}
	known := regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(help, -1)
	for path, text := range allDocuments(t) {
		for _, m := range regexp.MustCompile("[`(, ](--[a-z][a-z-]+)").FindAllStringSubmatch(text, -1) {
			assert.True(t, slices.Contains(known, m[1]) || slices.Contains(foreignFlags, m[1]),
				"%s names %s, want a flag of a command", path, m[1])
		}
	}
}

// TestNames_VariablesThatDocumentsName are read somewhere.
func TestNames_VariablesThatDocumentsName(t *testing.T) {
	t.Parallel()
	sources, err := exec.Command("git", "-C", "..", "grep", "-hoE", "--untracked", `(PINION|COG)_[A-Z_0-9]+`, "--", "*.go",
		"*.py", "*.c", "*.sh", "Dockerfile*").Output()
	if err != nil {
		t.Skipf("the sources are not in a checkout of git: %v", err)
	}
	known := strings.Fields(string(sources))
	for _, row := range regexp.MustCompile("(?m)^\\| `--.* \\| `(PINION_[A-Z_]+)` \\|").FindAllStringSubmatch(
		readPage(t, "../docs/reference/flags.md").text, -1) {
		known = append(known, row[1]) // named after its flag, in a page that is made from the settings
	}
	for path, text := range allDocuments(t) {
		for _, name := range regexp.MustCompile(`\b(?:PINION|COG)_[A-Z_0-9]*[A-Z0-9]\b`).FindAllString(text, -1) {
			assert.True(t, slices.Contains(known, name), "%s names %s, want a variable that is read", path, name)
		}
	}
}

// TestNames_LinksOfDocuments lead to a file, and to a heading in it; so do names of files of ours.
func TestNames_LinksOfDocuments(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`)
	file := regexp.MustCompile("`((?:docs|examples|bench|deploy|runtime|httpd|cmd|ipc|pyembed|tests)/[a-zA-Z0-9_./-]+)`")
	placeholder := regexp.MustCompile(`\b(NAME|ROW|FILE|DIR)\b`)
	for path, text := range allDocuments(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			content, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); err != nil && (statErr != nil || !info.IsDir()) {
				t.Errorf("%s: the link to %s: %v", path, m[1], err)
				continue
			}
			assert.True(t, m[2] == "" || slices.Contains(anchors(string(content)), m[2]),
				"%s: %s has no heading #%s, want it there", path, target, m[2])
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if placeholder.MatchString(m[1]) || strings.HasSuffix(m[1], "/...") { // a pattern of packages, as Go writes it
				continue
			}
			_, fromRoot := os.Stat(filepath.Join("..", m[1]))
			if _, beside := os.Stat(filepath.Join(filepath.Dir(path), m[1])); fromRoot != nil && beside != nil {
				t.Errorf("%s names %s: %v", path, m[1], fromRoot)
			}
		}
	}
}

// anchors are the names that a document's headings have in links.
func anchors(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(name, " ", "-"))
	}
	return found
}

// TestNames_CommandsInDocuments: the table of docs/reference/cli.md has each command, and no other.
func TestNames_CommandsInDocuments(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../docs/reference/cli.md")
	documented := map[string]bool{"completion": true, "help": true} // what every tool has
	for _, m := range regexp.MustCompile(`(?m)^\|.*$`).FindAllString(text, -1) {
		for _, name := range regexp.MustCompile("`pinion ([a-z]+)").FindAllStringSubmatch(m, -1) {
			documented[name[1]] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(harness.CLI{}.Good(t, "help"),
		-1) {
		assert.True(t, documented[m[1]],
			"docs/reference/cli.md does not tell of 'pinion %s', want documented[m[1]] true", m[1])
		delete(documented, m[1])
	}
	delete(documented, "run") // another name of predict
	for name := range documented {
		t.Errorf("docs/reference/cli.md tells of 'pinion %s', want only commands", name)
	}
}
