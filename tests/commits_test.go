package tests

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestCommitsHaveTheForm looks at the commits that the branch adds to its upstream, else to origin/main. Where there is
// neither it takes the last 20. The rule holds for commits after the one that brought this file.
func TestCommitsHaveTheForm(t *testing.T) {
	t.Parallel()
	git := func(arguments ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", ".."}, arguments...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
		t.Skipf("this is no whole checkout of git: %v", err)
	}
	rule, err := git("log", "--diff-filter=A", "--format=%H", "--", "tests/commits_test.go")
	if err != nil || rule == "" {
		t.Skipf("no commit brought this file yet: %v", err)
	}
	commits := []string{"-20", "HEAD"}
	for _, upstream := range []string{"@{upstream}", "origin/main"} {
		if base, err := git("merge-base", upstream, "HEAD"); err == nil {
			commits = []string{base + "..HEAD"}
			break
		}
	}
	log, err := git(append([]string{"log", "--no-merges", "--format=%h%n%B%x00"}, append(commits, "^"+strings.Fields(rule)[0])...)...)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(log, "\x00") {
		hash, message, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if hash == "" {
			continue
		}
		if err := checkCommit(message); err != nil {
			t.Errorf("commit %s: %v", hash, err)
		}
	}
}

// subjectForm is "area: subject"; areas are folders or packages, and the subject begins with a small letter.
var subjectForm = regexp.MustCompile(`^[\w./-]+(, [\w./-]+)*: ([a-z][\w-]*)[^.]*(\.[^. ][^.]*)*$`)

// notImperative are first words that no order begins with.
var notImperative = regexp.MustCompile(`^(an?|the|this|that|these|those|each|every|all|no|one|two|three|some|what|where|when|who|how|why|it|its|is|are|\w{3,}(ed|ing))$`)

// imperative are the exceptions from the above.
var imperative = regexp.MustCompile(`^(embed|exceed|proceed|speed|string|succeed)$`)

// checkCommit fails unless a message is "area: imperative subject" and, after an empty line, the reason.
func checkCommit(message string) error {
	subject, body, _ := strings.Cut(message, "\n")
	form := subjectForm.FindStringSubmatch(subject)
	switch {
	case form == nil:
		return fmt.Errorf("the subject %q is not `area: imperative subject`", subject)
	case notImperative.MatchString(form[2]) && !imperative.MatchString(form[2]):
		return fmt.Errorf("the subject %q does not begin with an imperative, as `area: add what is missing` does", subject)
	case len(subject) > 100:
		return fmt.Errorf("the subject %q has %d characters, and 100 are enough", subject, len(subject))
	case !strings.HasPrefix(body, "\n") || strings.TrimSpace(body) == "":
		return errors.New("no body after an empty line gives the reason")
	}
	return nil
}

func TestCheckCommit(t *testing.T) {
	const body = "\n\nIt was missing."
	for message, ok := range map[string]bool{
		"httpd: answer 429 when the queue is full" + body:            true,
		"httpd, runtime/slot: name batches plainly" + body:           true,
		"build.sh, tests: test Debian's Python 3.14 and 3.15" + body: true,
		"tests/cmd/report: read NAME.again" + body:                   true,
		"need: embed the queue" + body:                               true,
		"wip":                                                        false,
		"wip" + body:                                                 false,
		"httpd: answer 429":                                          false,
		"httpd: answer 429\nIt was missing.":                         false,
		"httpd: Answer 429" + body:                                   false,
		"httpd: answer 429." + body:                                  false,
		"httpd: answered 429" + body:                                 false,
		"httpd: answering 429" + body:                                false,
		"httpd: a full queue is answered 429" + body:                 false,
		"answer 429" + body:                                          false,
		"httpd: answer " + strings.Repeat("x", 100) + body:           false,
	} {
		if err := checkCommit(message); (err == nil) != ok {
			t.Errorf("%q: %v, want it to be right: %v", message, err, ok)
		}
	}
}
