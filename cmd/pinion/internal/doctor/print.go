package doctor

import (
	"encoding/json"
	"fmt"
	"io"

	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/terminal"
)

// Print prints what was found in a folder.
func (r *Report) Print(w io.Writer, dir string, asJSON bool) error {
	if asJSON {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("print JSON: %w", err)
		}
		return modelio.PrintJSON(w, text)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(w, p)
	}
	for _, p := range r.Differences {
		fmt.Fprintln(w, "different: "+p.String())
	}
	_, err := fmt.Fprintf(w, "%s and %s in %s\n", terminal.Counted(len(r.Problems), "problem"), terminal.Counted(len(r.Differences), "difference"), dir)
	return err
}
