package image

import (
	"cmp"
	"fmt"
	"strings"

	"pinion/cmd/pinion/internal/model"
)

// newName returns the present name of a package whose old name Debian 13 or Ubuntu 24.04 no longer has. Debian 12 and
// Ubuntu 22.04, the oldest bases that chooseBase takes, have the present name too. Any other package has its own.
func newName(old string) string {
	return cmp.Or(map[string]string{
		"libgl1-mesa-glx": "libgl1", "libegl1-mesa": "libegl1", "libgles2-mesa": "libgles2",
		"libgdk-pixbuf2.0-0": "libgdk-pixbuf-2.0-0",
		"netcat":             "netcat-openbsd", "ttf-dejavu": "fonts-dejavu",
	}[old], old)
}

// noteRenamed notes the system packages that are installed by another name.
func (p *Plan) noteRenamed() {
	for _, line := range p.build.SystemPackages {
		for _, name := range strings.Fields(line.Value) {
			if now := newName(name); now != name {
				p.Notes = append(p.Notes, model.Problem{
					File: model.CogFile, Line: line.Line,
					What: fmt.Sprintf("build.system_packages: %s is now called %s, and is installed by that name", name, now),
					Fix:  "write " + now + ", which Cog installs too",
				})
			}
		}
	}
}

func (p *Plan) systemPackages(w *writer) {
	if len(p.build.SystemPackages) == 0 {
		return
	}
	names := []string{"ca-certificates"} // a recommendation of many
	for _, line := range p.build.SystemPackages {
		for _, name := range strings.Fields(line.Value) {
			names = append(names, shellQuote(newName(name)))
		}
	}
	w.lines("", "# System packages.")
	w.run("", "export DEBIAN_FRONTEND=noninteractive;", "apt-get update;",
		"apt-get install -y --no-install-recommends "+strings.Join(names, " ")+";",
		"rm -rf /var/lib/apt/lists/*")
}
