package server

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/ports"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/schema"
)

// maxInput is the longest input, in bytes, of the curl line: an example may hold a picture.
const maxInput = 2000

// writeUsageHint says where the model is, and how to ask it from a shell: with a line that works for this very model.
// bound is the server's address, document the model's.
func writeUsageHint(to io.Writer, bound string, document []byte, train bool) {
	address, everywhere := ports.Reachable(bound)
	socket, page := "", address+"/docs is a page to try it, or"
	if everywhere {
		page = address + "/docs (the server listens on all addresses) is a page to try it, or"
	}
	if path, unix := strings.CutPrefix(address, "unix:"); unix {
		address, socket, page = "http://localhost", " --unix-socket "+terminal.Quote(path), "try it by"
	}
	fmt.Fprintf(to, "\n  The model is ready: %s\n\n", page)
	path := "/predictions"
	if train {
		path = "/trainings"
	}
	if functions := schema.Functions(document); functions != nil && !train {
		if _, err := inputs.Component(document, schema.ComponentName(false, false)); err != nil { // there is no run
			name := slices.Min(slices.Collect(maps.Keys(functions)))
			path, document = "/functions/"+name+path, functions[name].Document
		}
	}
	input := []byte(`{…}`) // of what cannot be made up, as files cannot
	if fields, err := inputs.ReadFields(document, train); err == nil {
		if made, err := fields.Sample(); err == nil && len(made) <= maxInput {
			input = made
		}
	}
	fmt.Fprintf(to, "  curl%s %s%s -H 'Content-Type: application/json' -d %s\n\n", socket, address, path,
		terminal.Quote(`{"input": `+string(input)+`}`))
}

// queueHint says what becomes of more requests at once than the model has slots.
const queueHint = "  While every slot is busy, more requests get 409. With --queue 64 they wait for a slot.\n\n"
