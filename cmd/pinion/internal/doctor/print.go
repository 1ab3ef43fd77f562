package doctor

import (
	"fmt"
	"io"

	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/terminal"
)

func (r *Report) Print(w io.Writer, dir string, asJSON bool) error {
	if asJSON {
		return modelio.PrintValue(w, r)
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
