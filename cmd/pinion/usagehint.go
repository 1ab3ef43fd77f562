package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"pinion/cmd/pinion/internal/listener"
	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/terminal"
)

// wantsUsageHint tells whether somebody sits before the server, who wants to know how to try the model.
func (s *settings) wantsUsageHint() bool {
	return terminal.IsTerminal(os.Stderr) && s.log.Format != "json"
}

// writeUsageHint says where the model is, and how to ask it from a shell: with a line that works for this very model.
func (f *front) writeUsageHint(to io.Writer) {
	document, ok := f.svc.OpenAPI()
	if !ok {
		return
	}
	train := f.model.Mode(f.s.mode) == "train"
	address, all := listener.Reachable(f.address)
	socket, page := "", address+"/docs is a page to try it, or"
	if all {
		page = address + "/docs (the server listens on all addresses) is a page to try it, or"
	}
	if path, unix := strings.CutPrefix(address, "unix:"); unix {
		address, socket, page = "http://localhost", " --unix-socket "+quoteShell(path), "try it by"
	}
	fmt.Fprintf(to, "\n  The model is ready: %s\n\n", page)
	path := "/predictions"
	if train {
		path = "/trainings"
	}
	input := []byte(`{…}`) // of what cannot be made up, as files cannot
	if fields, err := modelio.ReadFields(document, train); err == nil {
		if made, err := fields.Sample(); err == nil && len(made) <= maxHintInput {
			input = made
		}
	}
	fmt.Fprintf(to, "  curl%s %s%s -H 'Content-Type: application/json' -d %s\n\n", socket, address, path,
		quoteShell(`{"input": `+string(input)+`}`))
}

// maxHintInput is the longest input, in bytes, of the curl line: an example may hold a picture.
const maxHintInput = 2000

// quoteShell makes a word of a shell's of any text.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
