package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A goEvent is one line of `go test -json`; the fields are those of `go doc test2json`.
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of build-output events
	FailedBuild string // of the fail event of a package that did not build
}

// A goTest is a test or, with an empty name, a package, while its events are read.
type goTest struct {
	pkg, name string
	action    string // the last of pass, fail, skip; empty while it runs
	output    strings.Builder
	hasChild  bool // has subtests
	blamed    bool // one of its subtests, or for a package one of its tests, failed
}

// goRun collects the events of a run, in the order in which its tests began.
type goRun struct {
	tests  map[[2]string]*goTest
	order  []*goTest
	builds map[string]*strings.Builder // compiler output by import path
	noise  strings.Builder             // lines that are not events: a runtime's last words, or a command's complaint
}

// readGoTests reads the output of `go test -json` and returns its leaves, and what failed besides.
func readGoTests(r io.Reader) ([]result, error) {
	run := goRun{tests: map[[2]string]*goTest{}, builds: map[string]*strings.Builder{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			run.add(line)
		}
		if err == io.EOF {
			return run.results(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read test events: %w", err)
		}
	}
}

// add takes one line.
func (run *goRun) add(line string) {
	var event goEvent
	if err := json.Unmarshal([]byte(line), &event); err != nil {
		run.noise.WriteString(line)
		return
	}
	switch event.Action {
	case "build-output":
		b := run.builds[event.ImportPath]
		if b == nil {
			b = &strings.Builder{}
			run.builds[event.ImportPath] = b
		}
		b.WriteString(event.Output)
		return
	case "build-fail":
		return
	}
	test := run.test(event.Package, event.Test)
	switch event.Action {
	case "output":
		test.output.WriteString(event.Output)
	case "pass", "fail", "skip":
		test.action = event.Action
		if b := run.builds[event.FailedBuild]; b != nil {
			test.output.WriteString(b.String())
		}
	}
}

// test returns the test of that name, made at its first event.
func (run *goRun) test(pkg, name string) *goTest {
	key := [2]string{pkg, name}
	test := run.tests[key]
	if test == nil {
		test = &goTest{pkg: pkg, name: name}
		if parent := run.parent(test); parent != nil {
			parent.hasChild = true
		}
		run.tests[key] = test
		run.order = append(run.order, test) // after its parent, which results relies on
	}
	return test
}

// parent returns the test whose subtest this is, for a top-level test its package, and nil for a package.
func (run *goRun) parent(test *goTest) *goTest {
	if test.name == "" {
		return nil
	}
	for above := test.name; ; {
		cut := strings.LastIndexByte(above, '/')
		if cut < 0 {
			return run.test(test.pkg, "")
		}
		above = above[:cut]
		// A name may hold slashes; the test above it is one that has begun.
		if parent := run.tests[[2]string{test.pkg, above}]; parent != nil {
			return parent
		}
	}
}

// results classifies the tests once all events are read.
func (run *goRun) results() []result {
	var out []result
	// A child stands after its parent, so walking backwards meets each test after all that could explain it.
	for i := len(run.order) - 1; i >= 0; i-- {
		if r, counts := run.classify(run.order[i]); counts {
			out = append(out, r)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// classify says whether the test counts, and as what; a failure blames its parents.
func (run *goRun) classify(test *goTest) (result, bool) {
	name := strings.TrimSuffix(test.pkg+"."+test.name, ".")
	isPackage := test.name == ""
	switch {
	case test.action == "pass" && !isPackage && !test.hasChild:
		return result{name: name, outcome: passed}, true
	case test.action == "skip" && !isPackage && !test.blamed:
		return result{name: name, outcome: skipped}, !test.hasChild
	case test.action == "fail" && !test.blamed, test.action == "" && !test.blamed:
		run.blame(test)
		output := test.output.String()
		if test.action == "" {
			output += "(it never ended)\n"
		}
		if isPackage {
			output += run.noise.String()
		}
		return result{name: name, outcome: failed, output: output}, true
	}
	return result{}, false
}

// blame marks all above a failure as explained by it.
func (run *goRun) blame(test *goTest) {
	for p := run.parent(test); p != nil; p = run.parent(p) {
		p.blamed = true
	}
}
