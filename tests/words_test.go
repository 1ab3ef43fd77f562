package tests

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// retiredWords are the sections of words.txt: names has the words that names may not have, exceptions names that may have
// them, and prose the words that documents may not have. Each has its reason, or what to use instead.
type retiredWords struct{ names, exceptions, prose map[string]string }

func readRetiredWords(text string) (retiredWords, error) {
	words := retiredWords{map[string]string{}, map[string]string{}, map[string]string{}}
	sections := map[string]map[string]string{"[names]": words.names, "[exceptions]": words.exceptions, "[prose]": words.prose}
	var section map[string]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if sections[line] != nil {
			section = sections[line]
			continue
		}
		list, meaning, ok := strings.Cut(line, ": ")
		if !ok || section == nil {
			return words, fmt.Errorf("read retired words: %q has no colon, or stands in no section", line)
		}
		for word := range strings.SplitSeq(list, ", ") {
			section[word] = meaning
		}
	}
	return words, nil
}

// in returns a complaint for each name in a source file that has a retired word, and notes which exceptions are needed.
func (r retiredWords) in(path, source string, needed map[string]bool) (complaints []string) {
	said := map[string]bool{}
	for _, name := range namesIn(path, source) {
		for _, word := range wordsOf(name) {
			use, retired := r.names[word]
			if _, excepted := r.exceptions[name]; retired && excepted {
				needed[name] = true
			} else if retired && !said[name] {
				said[name] = true
				complaints = append(complaints, fmt.Sprintf("%s: the name %s has the word %q: use %s", path, name, word, use))
			}
		}
	}
	return complaints
}

// notCode matches strings and comments, by the ending of a file.
var notCode = map[string]*regexp.Regexp{
	".py": regexp.MustCompile(`(?s)""".*?"""|'''.*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*`),
	".c":  regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`),
}

// namesIn returns the names in a Go, C or Python source file; strings and comments do not count.
func namesIn(path, source string) (names []string) {
	if filepath.Ext(path) != ".go" {
		code := notCode[strings.Replace(filepath.Ext(path), ".h", ".c", 1)].ReplaceAllString(source, " ")
		return regexp.MustCompile(`[A-Za-z_]\w*`).FindAllString(code, -1)
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile(path, -1, len(source)), []byte(source), nil, 0)
	for {
		switch _, kind, text := s.Scan(); kind {
		case token.EOF:
			return names
		case token.IDENT:
			names = append(names, text)
		}
	}
}

// wordsOf splits HTTPServer, max_size and maxSize, and returns the words in lower case.
func wordsOf(name string) (words []string) {
	letters, start := []rune(name), 0
	end := func(i int) {
		if i > start {
			words = append(words, strings.ToLower(string(letters[start:i])))
		}
		start = i
	}
	for i, c := range letters {
		switch {
		case !unicode.IsLetter(c):
			end(i)
			start = i + 1
		case i > 0 && unicode.IsUpper(c) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])):
			end(i)
		}
	}
	end(len(letters))
	return words
}

// isModel matches models, which are written as users write them and so may have any word, and other data of tests. The Python
// programs of pyembed/testdata and tests/instructions are tests themselves.
var isModel = regexp.MustCompile(`^(tests/models|examples|cmd/pinion/internal/starter/files|tests/chaos/models)/|^(runtime|cmd|httpd|ipc|pyembed/[a-z]+|tests/[a-hj-z]\w*)/(.*/)?testdata/`)

// readWords reads words.txt.
func readWords(t *testing.T) retiredWords {
	t.Helper()
	text := readFile(t, "words.txt")
	words, err := readRetiredWords(text)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// tracked returns the files of the patterns that git knows and that are there, with their texts.
func tracked(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	listed, err := exec.Command("git", append([]string{"-C", "..", "ls-files"}, patterns...)...).Output()
	if err != nil {
		t.Skipf("the sources are not in a checkout of git: %v", err)
	}
	found := map[string]string{}
	for path := range strings.FieldsSeq(string(listed)) {
		text, err := os.ReadFile(filepath.Join("..", path))
		if err == nil {
			found[path] = string(text)
		} else if !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return found
}

func TestNamesHaveNoRetiredWords(t *testing.T) {
	t.Parallel()
	words, files, needed := readWords(t), tracked(t, "*.go", "*.c", "*.h", "*.py"), map[string]bool{}
	if len(files) < 100 {
		t.Fatalf("only %d files were found", len(files))
	}
	for path, source := range files {
		if isModel.MatchString(path) {
			continue
		}
		for _, complaint := range words.in(path, source, needed) {
			t.Error(complaint)
		}
	}
	for name := range words.exceptions {
		if !needed[name] {
			t.Errorf("words.txt excepts %s, which no file has: remove the line", name)
		}
	}
}

func TestDocumentsHaveNoRetiredWords(t *testing.T) {
	t.Parallel()
	words, files := readWords(t), tracked(t, "docs/*.md", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
	if len(files) < 20 {
		t.Fatalf("only %d documents were found", len(files))
	}
	for path, text := range files {
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
			if use, retired := words.prose[strings.ToLower(word)]; retired {
				t.Errorf("%s has the word %q: use %s", path, word, use)
			}
		}
	}
}

// TestSourcesHaveNoRetiredWords looks at comments and texts of programs too: the words of [prose] are no names either.
func TestSourcesHaveNoRetiredWords(t *testing.T) {
	t.Parallel()
	words := readWords(t)
	for path, text := range tracked(t, "*.go", "*.c", "*.h", "*.py", "*.sh", "*.js") {
		if isModel.MatchString(path) || path == "tests/words_test.go" {
			continue
		}
		for _, word := range regexp.MustCompile(`\b[A-Z]?[a-z]+\b`).FindAllString(text, -1) {
			if use, retired := words.prose[strings.ToLower(word)]; retired {
				t.Errorf("%s has the word %q: use %s", path, word, use)
			}
		}
	}
}

func TestRetiredWordsAreFound(t *testing.T) {
	words, err := readRetiredWords("# a comment\n\n[names]\nride, rides: batch\n[exceptions]\nRideOut: a term\n")
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"a.go\npackage a\n\nfunc nextRide() {}":                       `the name nextRide has the word "ride": use batch`,
		"a.go\npackage a\n\nvar x = HTTPRides2":                       "HTTPRides2",
		"a.go\npackage a\n\n// a ride\nvar pride = `ride`":            "",
		"a.go\npackage a\n\nvar RideOut, override int":                "",
		"a.c\nint px_ride; /* a ride */ char *s = \"ride\";":          "px_ride",
		"a.h\n// rides\nint x;":                                       "",
		"a.py\n\"\"\"A ride.\"\"\"\n# rides\nx = 'ride'\ny_rides = 1": "y_rides",
	} {
		path, code, _ := strings.Cut(source, "\n")
		got := words.in(path, code, map[string]bool{})
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
	for _, text := range []string{"[names]\nride\n", "ride: batch\n"} {
		if _, err := readRetiredWords(text); err == nil {
			t.Errorf("%q gave no error", text)
		}
	}
}
