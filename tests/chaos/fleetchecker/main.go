package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// note is a line of the journal.
type note struct {
	ID     string `json:"id"`
	What   string `json:"what"` // accepted, asked (to cancel), canceled (200), state or webhook
	Status string `json:"status,omitempty"`
	Output string `json:"output,omitempty"` // which run it was
	Error  string `json:"error,omitempty"`
}

// end is how a prediction ended, as one answer or webhook says it.
type end struct{ status, output, err string }

// record is all that is known of a prediction.
type record struct {
	accepted, asked, canceled bool
	ends                      []end
	webhooks                  int
	runs                      []string
}

func main() {
	attempts := flag.Int("attempts", 3, "how often a prediction may run")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: fleetchecker -attempts N journal.jsonl ledger.txt")
		os.Exit(2)
	}
	records, err := read(flag.Arg(0), flag.Arg(1))
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleetchecker:", err)
		os.Exit(2)
	}
	broken, summary := check(records, *attempts)
	for _, line := range broken {
		fmt.Println(line)
	}
	fmt.Println(summary)
	if len(broken) > 0 {
		os.Exit(1)
	}
}

func read(journal, ledger string) (map[string]*record, error) {
	records := map[string]*record{}
	of := func(id string) *record {
		if records[id] == nil {
			records[id] = &record{}
		}
		return records[id]
	}
	err := lines(journal, func(line string) error {
		var n note
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			return err
		}
		r := of(n.ID)
		switch n.What {
		case "accepted":
			r.accepted = true
		case "asked":
			r.asked = true
		case "canceled":
			r.canceled = true
		case "webhook":
			r.webhooks++
			fallthrough
		case "state":
			r.ends = append(r.ends, end{n.Status, n.Output, n.Error})
		default:
			return fmt.Errorf("%s: unknown note %q", n.ID, n.What)
		}
		return nil
	})
	if err == nil {
		err = lines(ledger, func(line string) error {
			id, _, ok := strings.Cut(line, " ")
			if !ok {
				return fmt.Errorf("the ledger has the line %q", line)
			}
			of(id).runs = append(of(id).runs, line)
			return nil
		})
	}
	return records, err
}

func lines(path string, do func(string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			if err := do(strings.TrimSuffix(line, "\n")); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// check returns a line for each promise that was broken, and a summary.
func check(records map[string]*record, attempts int) (broken []string, summary string) {
	var accepted, again int
	ended := map[string]int{}
	for id, r := range records {
		if !r.accepted {
			broken = append(broken, id+": it was never accepted")
			continue
		}
		accepted++
		if len(r.runs) > 1 {
			again++
		}
		for _, what := range r.broken(attempts) {
			broken = append(broken, id+": "+what)
		}
		if len(r.ends) > 0 {
			ended[r.ends[0].status]++
		}
	}
	slices.Sort(broken)
	return broken, fmt.Sprintf("%d accepted: %d succeeded, %d failed, %d canceled; %d ran more than once; %d broken promises",
		accepted, ended["succeeded"], ended["failed"], ended["canceled"], again, len(broken))
}

func (r *record) broken(attempts int) (broken []string) {
	add := func(format string, a ...any) { broken = append(broken, fmt.Sprintf(format, a...)) }
	if len(r.runs) > attempts {
		add("it ran %d times", len(r.runs))
	}
	if r.webhooks == 0 {
		add("its webhook did not come")
	}
	if len(r.ends) == r.webhooks {
		add("no server tells its end")
	}
	if len(r.ends) == 0 {
		return broken
	}
	first := r.ends[0]
	for _, e := range r.ends[1:] {
		if e != first {
			add("it has two ends: %+v and %+v", first, e)
		}
	}
	switch first.status {
	case "succeeded":
		if !slices.Contains(r.runs, first.output) {
			add("its result %q is not of its run", first.output)
		}
		if r.canceled {
			add("it succeeded after a cancel was answered 200")
		}
	case "failed":
		if !strings.Contains(first.err, "gave up after") {
			add("it failed: %s", first.err)
		}
	case "canceled":
		if !r.asked {
			add("it was canceled, and no client asked for that")
		}
	default:
		add("it has not ended: it is %s", first.status)
	}
	return broken
}
