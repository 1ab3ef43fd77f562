package main

import (
	"cmp"
	"fmt"
	"regexp"
)

// A version is what `git describe` says of a commit, in the forms of each package system.
//
//	of a tag        1.2.0          1.2.0                     1.2.0
//	of a candidate  1.2.0-rc.1     1.2.0rc1                  1.2.0~rc.1
//	4 commits on    1.2.0-4-gabc   1.2.0.post4+gabc          1.2.0+4.gabc
//	without a tag   0.1.0-dev      0.1.0.dev0+gCOMMIT        0.1.0~dev.gCOMMIT
type version struct {
	text   string // the first column; in the names of files and in `pinion version`
	number string // 1.2.0
	phase  string // alpha, beta, rc, dev, or none
	step   string // the number after the phase
	after  string // commits since the tag
	commit string // g and the commit's hash, or empty for a tagged commit
}

var describe = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(alpha|beta|rc|dev)(?:\.?(\d+))?)?(?:-(\d+)-(g[0-9a-f]+))?$`)

// parseVersion reads what `git describe --tags` prints, without the v.
func parseVersion(text, commit string) (version, error) {
	m := describe.FindStringSubmatch(text)
	if m == nil {
		return version{}, fmt.Errorf("the version %q is not valid: tag a commit as v1.2.3 or v1.2.3-rc.1", text)
	}
	v := version{text: text, number: m[1], phase: m[2], step: m[3], after: m[4], commit: m[5]}
	if v.phase == "dev" && v.commit == "" {
		v.commit = "g" + commit
	}
	return v, nil
}

func (v version) String() string { return v.text }

func (v version) pep440() string {
	text, step := v.number, cmp.Or(v.step, "0")
	switch v.phase {
	case "alpha", "beta":
		text += v.phase[:1] + step
	case "rc":
		text += "rc" + step
	}
	if v.after != "" {
		text += ".post" + v.after
	}
	if v.phase == "dev" {
		text += ".dev" + step
	}
	if v.commit != "" {
		text += "+" + v.commit
	}
	return text
}

// debian is the version of a Debian package: "~" sorts before the release, "+" after it.
func (v version) debian() string {
	text := v.number
	if v.phase != "" {
		text += "~" + v.phase
		if v.step != "" {
			text += "." + v.step
		}
	}
	switch {
	case v.after != "":
		text += "+" + v.after + "." + v.commit
	case v.commit != "":
		text += "." + v.commit
	}
	return text
}
