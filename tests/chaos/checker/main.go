package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// shown is how many findings are printed.
const shown = 40

// command is main, so that tests can call it.
func command(arguments []string, out, complaints io.Writer) int {
	var l limits
	flags := flag.NewFlagSet("checker", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.IntVar(&l.slots, "slots", 1, "predictions, or with -batch batches, at once in a worker")
	flags.IntVar(&l.batch, "batch", 0, "how many predictions may be in a batch; 0: there are no batches")
	flags.IntVar(&l.swallowed, "swallowed", 0,
		"how many answers of an ended batch each death may take along, so that these are tried again")
	flags.IntVar(&l.unsent, "unsent", 0, "how many finished predictions each death may cost beyond those that ran")
	flags.IntVar(&l.behind, "behind", 33,
		"how many predictions of a slot may be lost with rubbish that their worker wrote")
	flags.IntVar(&l.refused, "refused", 0, "how many predictions may be refused in all")
	flags.IntVar(&l.foreignCoroutines, "foreign-coroutines", 0,
		"how many answers may have Python's warning of a canceled prediction's coroutine in their logs")
	flags.IntVar(&l.overtaken, "overtaken", 64, "by how many later ones a prediction may be overtaken")
	flags.DurationVar(&l.late, "late", time.Second, "how long a prediction that is overtaken by more may have waited")
	if flags.Parse(arguments) != nil {
		return 2
	}
	if flags.NArg() != 2 {
		fmt.Fprintln(complaints, "checker: it needs a journal and a ledger")
		return 2
	}
	r, err := read(flags.Arg(0), flags.Arg(1))
	if err != nil {
		fmt.Fprintln(complaints, "checker:", err)
		return 2
	}
	if len(r.order) == 0 {
		fmt.Fprintln(complaints, "checker: no client asked for anything")
		return 2
	}
	v := check(r, l)
	for _, what := range slices.Sorted(maps.Keys(v.counts)) {
		fmt.Fprintf(out, "%9d %s\n", v.counts[what], what)
	}
	for i, text := range v.broken {
		if i == shown {
			fmt.Fprintf(complaints, "and %d more\n", len(v.broken)-shown)
			break
		}
		fmt.Fprintln(complaints, text)
	}
	if len(v.broken) > 0 {
		return 1
	}
	return 0
}
