package cli

import (
	"fmt"
	"io"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/terminal"
)

func (r *doctorReport) Print(w io.Writer, dir string, asJSON bool) error {
	problems, differences := model.Shown(r.Problems), model.Shown(r.Differences)
	if asJSON {
		return inputs.PrintValue(w, &doctorReport{problems, differences})
	}
	colours := terminal.ColoursOf(w)
	for _, p := range problems {
		fmt.Fprintln(w, colours.Red(p.String()))
	}
	for _, p := range differences {
		fmt.Fprintln(w, colours.Yellow("different: ")+p.String())
	}
	fmt.Fprintf(w, "%s and %s in %s\n", terminal.Counted(len(r.Problems), "problem"),
		terminal.Counted(len(r.Differences), "difference"), dir)
	_, err := fmt.Fprintf(w, "See %s\n", version.DocsPage("how-to/move-from-cog"))
	return err
}
