package locate

import (
	"os"
	"slices"
	"strings"
)

// distribution is the Linux that this program runs on, by os-release(5). The zero value is an unknown one.
type distribution struct {
	id      string   // "ubuntu"
	like    []string // the distributions that it is based on
	version string   // "24.04"; empty for rolling ones
	name    string   // "Ubuntu 24.04.1 LTS"
}

// readDistribution reads the first of the files that exists.
func readDistribution(paths []string) distribution {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var d distribution
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			value = strings.Trim(value, `"'`)
			switch key {
			case "ID":
				d.id = value
			case "ID_LIKE":
				d.like = strings.Fields(value)
			case "VERSION_ID":
				d.version = value
			case "PRETTY_NAME":
				d.name = value
			}
		}
		return d
	}
	return distribution{}
}

func (d distribution) is(id string) bool { return d.id == id || slices.Contains(d.like, id) }

// usesApt, usesDNF and usesMusl report whether the system is of a family whose packages have the same names.
func (d distribution) usesApt() bool  { return d.is("debian") || d.is("ubuntu") }
func (d distribution) usesDNF() bool  { return d.is("fedora") || d.is("rhel") || d.is("centos") }
func (d distribution) usesMusl() bool { return d.is("alpine") }

// python3 returns the version of the package python3, for releases that are known to this program.
func (d distribution) python3() version {
	minors := map[string]int{
		"ubuntu 20.04": 8, "ubuntu 22.04": 10, "ubuntu 24.04": 12,
		"debian 11": 9, "debian 12": 11, "debian 13": 13,
	}
	minor, known := minors[d.id+" "+d.version]
	if !known {
		return version{}
	}
	return version{major: 3, minor: minor}
}
