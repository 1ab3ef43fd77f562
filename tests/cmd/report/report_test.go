package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// events writes `go test -json` lines from "action package test output" shorthand.
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		for len(f) < 4 {
			f = append(f, "")
		}
		b.WriteString(`{"Action":"` + f[0] + `","Package":"` + f[1] + `","Test":"` + f[2] + `","Output":"` + f[3] + `"}` +
			"\n")
	}
	return b.String()
}

const junitMixed = `<?xml version="1.0"?><testsuites><testsuite tests="4">
<testcase classname="tests.test_a" name="test_good" time="0.1"/>
<testcase classname="tests.test_a" name="test_bad"><failure message="m">assert 1 == 2</failure><system-out>said</system-out></testcase>
<testcase classname="tests.test_a" name="test_teardown"><skipped message="s"/><error message="e">in teardown</error></testcase>
<testcase classname="tests.test_a" name="test_left_out"><skipped message="why"/></testcase>
</testsuite></testsuites>`

func TestReport_Suite(t *testing.T) {
	cases := []struct {
		name  string
		files map[string]string
		want  string
		shows []string // parts of the failures' output
	}{
		{"a check that passes", map[string]string{"s.rc": "0 1", "s.log": "fine"}, "1 passed, 0 failed", nil},
		{"a check that fails", map[string]string{"s.rc": "3 1", "s.log": "bad"}, "0 passed, 1 failed", []string{"bad", "exit status 3"}},
		{"a suite cut off", map[string]string{"s.log": "half"}, "0 passed, 1 failed", []string{"half", "never ended"}},
		{"a status that is none", map[string]string{"s.rc": "zero"}, "0 passed, 1 failed", []string{"not two numbers"}},

		{"leaves only", map[string]string{"s.rc": "0 1", "s.json": events(
			"start p", "run p TestA", "run p TestA/x", "run p TestA/y", "pass p TestA/x", "skip p TestA/y", "pass p TestA",
			"run p TestB", "pass p TestB", "pass p", "start q", "skip q")}, "2 passed, 0 failed, 1 skipped", nil},
		{"slashes in a name", map[string]string{"s.rc": "0 1", "s.json": events(
			"start p", "run p TestA", "run p TestA//usr/bin/x", "run p TestA//usr", "pass p TestA//usr/bin/x",
			"pass p TestA//usr",
			"pass p TestA", "pass p")}, "2 passed, 0 failed", nil},
		{
			"a failed leaf explains what is above it",
			map[string]string{"s.rc": "1 1", "s.json": events(
				"run p TestA", "run p TestA/x", "output p TestA/x broken", "fail p TestA/x", "fail p TestA", "fail p")},
			"0 passed, 1 failed",
			[]string{"p.TestA/x", "broken"},
		},
		{
			"a parent that fails by itself",
			map[string]string{"s.rc": "1 1", "s.json": events(
				"run p TestA", "run p TestA/x", "pass p TestA/x", "output p TestA later", "fail p TestA", "fail p")},
			"1 passed, 1 failed",
			[]string{"later"},
		},
		{"a package that fails by itself", map[string]string{"s.rc": "1 1", "s.json": events(
			"run p TestA", "pass p TestA", "output p  exit", "fail p")}, "1 passed, 1 failed", []string{"exit"}},
		{
			"a test cut off by a crash",
			map[string]string{"s.rc": "1 1", "s.json": events("run p TestA", "pass p TestA", "run p TestB", "output p TestB SIGSEGV", "fail p")},
			"1 passed, 1 failed",
			[]string{"p.TestB", "SIGSEGV", "never ended"},
		},
		{"a build that fails", map[string]string{
			"s.rc": "1 1",
			"s.json": `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: oops\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`,
		}, "0 passed, 1 failed", []string{"oops"}},
		{
			"a runner that never reached a test",
			map[string]string{"s.rc": "1 1", "s.json": "", "s.log": "go: no such module"},
			"0 passed, 1 failed",
			[]string{"no such module"},
		},
		{"an empty run", map[string]string{"s.rc": "0 1", "s.json": ""}, "0 passed, 1 failed", []string{"holds no test"}},
		{"a failure that the status hides", map[string]string{"s.rc": "0 1", "s.json": events("run p TestA", "fail p TestA")}, "0 passed, 1 failed", nil},

		{
			"a flake",
			map[string]string{
				"s.rc": "1 1", "s.json": events(
					"run p TestA", "output p TestA late", "fail p TestA", "run p TestB", "output p TestB wrong", "fail p TestB",
					"fail p"),
				"s.again": events("run p TestA", "pass p TestA", "run p TestB", "fail p TestB", "fail p"),
			},
			"1 passed, 1 failed",
			[]string{"FLAKE s: p.TestA (", "late", "FAILED s: p.TestB", "wrong"},
		},
		{
			"a flake of a parent",
			map[string]string{
				"s.rc": "1 1", "s.json": events(
					"run p TestA", "run p TestA/x", "pass p TestA/x", "output p TestA late", "fail p TestA", "fail p"),
				"s.again": events("run p TestA", "run p TestA/x", "pass p TestA/x", "pass p TestA", "pass p"),
			},
			"2 passed, 0 failed",
			[]string{"FLAKE s: p.TestA (", "late"},
		},
		{
			"a subtest that fails twice",
			map[string]string{
				"s.rc": "1 1", "s.json": events(
					"run p TestA", "run p TestA/x", "fail p TestA/x", "run p TestA/y", "pass p TestA/y", "fail p TestA", "fail p"),
				"s.again": events("run p TestA", "run p TestA/x", "fail p TestA/x", "run p TestA/y", "pass p TestA/y",
					"fail p TestA", "fail p"),
			},
			"1 passed, 1 failed",
			[]string{"FAILED s: p.TestA/x"},
		},
		{"a second run cut off", map[string]string{
			"s.rc": "1 1", "s.json": events("run p TestA", "fail p TestA", "fail p"),
			"s.again": events("run p TestA"),
		}, "0 passed, 1 failed", []string{"FAILED s: p.TestA"}},

		{
			"pytest",
			map[string]string{"s.rc": "1 1", "s.xml": junitMixed},
			"1 passed, 2 failed, 1 skipped",
			[]string{"tests.test_a.test_bad", "assert 1 == 2", "said", "in teardown"},
		},
		{
			"pytest with one suite as its root",
			map[string]string{"s.rc": "0 1", "s.xml": `<testsuite><testcase name="a"/></testsuite>`},
			"1 passed, 0 failed", nil,
		},
		{"pytest cut off", map[string]string{"s.rc": "1 1", "s.xml": "<testsuites><testsu"}, "0 passed, 1 failed", []string{"JUnit"}},
		{
			"pytest that found nothing",
			map[string]string{"s.rc": "5 1", "s.xml": "<testsuites></testsuites>"},
			"0 passed, 1 failed",
			[]string{"exit status 5"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, c.files)
			s := readSuite(dir, "s")
			var got tally
			got.add(s.results)
			assert.Equal(t, fmt.Sprintf("%q", got), got.String(), c.want)
			var out strings.Builder
			printFailures(&out, s, true)
			for _, part := range c.shows {
				assert.Contains(t, "failures", out.String(), part)
			}
		})
	}
}

func TestReport_EndsWithSummaryLine(t *testing.T) {
	dir := write(t, map[string]string{"10-a.rc": "0 1", "20-b.rc": "1 2", "20-b.log": "reason"})
	var out strings.Builder
	ok, err := report(&out, dir, nil)
	if ok || err != nil {
		t.Errorf("report = %v, %v; want a failure and no error", ok, err)
	}
	assert.Equal(t, "output", out.String(), "FAILED 20-b: 20-b\n1 passed, 1 failed\n")
}

func TestReport_NamesFlakes(t *testing.T) {
	dir := write(t, map[string]string{
		"a.rc":    "1 1",
		"a.json":  events("run p TestA", "fail p TestA", "run p TestB", "pass p TestB", "fail p"),
		"a.again": events("run p TestA", "pass p TestA", "pass p"),
	})
	var out strings.Builder
	ok, err := report(&out, dir, nil)
	if !ok || err != nil {
		t.Errorf("report = %v, %v; want success", ok, err)
	}
	assert.Equal(t, "out.String()",
		out.String(), "FLAKE a: p.TestA (failed, then passed when run once more)\n2 passed, 0 failed\n")
}

func TestReport_ManyFlakesFail(t *testing.T) {
	var first, again []string
	for i := range maxFlakes + 1 {
		first = append(first, fmt.Sprintf("run p Test%d", i), fmt.Sprintf("fail p Test%d", i))
		again = append(again, fmt.Sprintf("run p Test%d", i), fmt.Sprintf("pass p Test%d", i))
	}
	dir := write(t, map[string]string{"a.rc": "1 1", "a.json": events(first...), "a.again": events(again...)})
	var out strings.Builder
	if ok, err := report(&out, dir, nil); ok || err != nil {
		t.Errorf("report = %v, %v; want a failure and no error", ok, err)
	}
	if want := "FAILED: 6 tests are flaky; at most 5 may be\n6 passed, 0 failed\n"; !strings.HasSuffix(out.String(),
		want) {
		t.Errorf("got %q, want it to end with %q", out.String(), want)
	}
}

func TestReport_OfNothingFails(t *testing.T) {
	var out strings.Builder
	if ok, err := report(&out, t.TempDir(), nil); ok || err != nil {
		t.Errorf("report = %v, %v; want a failure and no error", ok, err)
	}
	if _, err := report(&out, filepath.Join(t.TempDir(), "absent"), nil); err == nil {
		t.Error("an absent folder gave no error")
	}
}

func TestReport_OfOneSuite(t *testing.T) {
	dir := write(t, map[string]string{"a.rc": "0 7", "b.rc": "1 2"})
	var out strings.Builder
	if ok, err := report(&out, dir, []string{"a"}); !ok || err != nil {
		t.Errorf("report = %v, %v; want success", ok, err)
	}
	assert.Contains(t, "out.String()", out.String(), "1 passed, 0 failed (7 s)")
}

// write makes a results folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}
