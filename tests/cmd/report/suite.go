package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// A suite is what one run of a test runner left behind.
type suite struct {
	name    string
	seconds int
	results []result
}

// suiteNames returns the suites in the folder, in the order of their names.
func suiteNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list suites: %w", err)
	}
	seen := map[string]bool{}
	var names []string
	for _, e := range entries {
		extension := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), extension)
		switch extension {
		case ".rc", ".json", ".xml", ".log":
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return names, nil
}

// readSuite reads the files of one suite. A file that cannot be read is a failure of the suite, never an error.
func readSuite(dir, name string) suite {
	s := suite{name: name}
	log := readLog(filepath.Join(dir, name+".log"))
	fail := func(what string) {
		s.results = append(s.results, result{name: name, outcome: failed, output: log + what + "\n"})
	}

	status := 0
	if rc, err := os.ReadFile(filepath.Join(dir, name+".rc")); err != nil {
		fail("the suite never ended")
	} else if status, s.seconds, err = parseStatus(string(rc)); err != nil {
		fail(err.Error())
	}

	readers := []struct {
		extension string
		read      func(io.Reader) ([]result, error)
	}{{".json", readGoTests}, {".xml", readJUnit}}
	hasTests := false
	for _, r := range readers {
		results, err := readFile(filepath.Join(dir, name+r.extension), r.read)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		hasTests = true
		s.results = append(s.results, results...)
		if err != nil {
			fail(err.Error())
		}
	}

	again, err := readFile(filepath.Join(dir, name+".again"), readGoTests)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fail(err.Error())
	}
	markFlakes(s.results, again)

	var t tally
	t.add(s.results)
	switch {
	case status != 0 && t.failed+t.flaky == 0:
		fail(fmt.Sprintf("exit status %d", status))
	case !hasTests && t.failed == 0:
		s.results = append(s.results, result{name: name, outcome: passed})
	case hasTests && len(s.results) == 0:
		fail("the suite holds no test")
	}
	return s
}

// markFlakes marks the failures whose test passed in the second run.
func markFlakes(results, again []result) {
	for i := range results {
		name, passedAgain, failedAgain := results[i].name, false, false
		for _, r := range again {
			same := r.name == name
			passedAgain = passedAgain || r.outcome == passed && (same || strings.HasPrefix(r.name, name+"/"))
			failedAgain = failedAgain || r.outcome == failed && same
		}
		if results[i].outcome == failed && passedAgain && !failedAgain {
			results[i].outcome = flaky
		}
	}
}

// parseStatus splits "STATUS SECONDS".
func parseStatus(text string) (status, seconds int, err error) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0, 0, fmt.Errorf("read exit status: %q is not two numbers", text)
	}
	if status, err = strconv.Atoi(fields[0]); err != nil {
		return 0, 0, fmt.Errorf("read exit status: %w", err)
	}
	if seconds, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, fmt.Errorf("read exit status: %w", err)
	}
	return status, seconds, nil
}

// readFile opens a file for one of the readers.
func readFile(path string, read func(io.Reader) ([]result, error)) ([]result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

// readLog returns a suite's free text, empty where it printed none.
func readLog(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
