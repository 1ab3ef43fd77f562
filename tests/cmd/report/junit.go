package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// A junitCase is one test of a JUnit document; a part that is absent is nil.
type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitPart `xml:"failure"`
	Error   *junitPart `xml:"error"`
	Skipped *junitPart `xml:"skipped"`
	Out     string     `xml:"system-out"`
	Err     string     `xml:"system-err"`
}

// A junitPart is the reason for an outcome.
type junitPart struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// readJUnit reads a JUnit document, whether its root is a testsuites or a single testsuite.
func readJUnit(r io.Reader) ([]result, error) {
	var document struct {
		Cases  []junitCase `xml:"testcase"`
		Suites []struct {
			Cases []junitCase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.NewDecoder(r).Decode(&document); err != nil {
		return nil, fmt.Errorf("read JUnit document: %w", err)
	}
	cases := document.Cases
	for _, suite := range document.Suites {
		cases = append(cases, suite.Cases...)
	}
	var out []result
	for _, c := range cases {
		out = append(out, c.result())
	}
	return out, nil
}

// result is what the test counts as. A test may carry several parts, as when its teardown fails after a skip.
func (c junitCase) result() result {
	r := result{name: strings.TrimPrefix(c.Class+"."+c.Name, ".")}
	switch {
	case c.Failure != nil || c.Error != nil:
		r.outcome = failed
		for _, part := range []*junitPart{c.Failure, c.Error} {
			if part != nil {
				r.output += part.Text + "\n"
			}
		}
		r.output += c.Out + c.Err
	case c.Skipped != nil:
		r.outcome = skipped
	}
	return r
}
