package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/health"
)

// statusTimeout is how long 'pinion ps' waits for a server's health.
const statusTimeout = 2 * time.Second

const serverArgument = `SERVER is the process id, port, model or model folder that 'pinion ps' shows; it may be left out where one server
runs. Servers of other users, in other containers, or with another TMPDIR are not found.`

func newPS() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ps", Short: "List your servers on this machine", Args: noArguments,
		Long: `List the servers of pinion serve and pinion gateway that this user runs on this machine, with their health. Servers in
other containers, or with another TMPDIR, are not found.`,
		Example: "  pinion ps\n  pinion ps --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := askServers(cmd.Context(), process.Servers())
			if asJSON {
				return process.Failed(inputs.PrintValue(os.Stdout, rows))
			}
			return process.Failed(printServers(os.Stdout, rows, time.Now()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

// serverRow is a server as 'pinion ps' lists it.
type serverRow struct {
	process.ServerInfo
	Status string `json:"status,omitempty"` // as in its health; "" means it does not answer
	// Ranks are the processes of each worker that has several, by worker.
	Ranks [][]health.Rank `json:"ranks,omitempty"`
}

func printServers(w io.Writer, rows []serverRow, now time.Time) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no server of yours runs")
		return err
	}
	t := newTable(w)
	t.row("PID", "ADDRESS", "STATUS", "STARTED", "MODEL", "FOLDER")
	for _, r := range rows {
		var names, folders []string
		for _, m := range r.Models {
			names = append(names, m.Name)
			if m.Folder != "" { // a gateway has none
				folders = append(folders, m.Folder)
			}
		}
		t.row(strconv.Itoa(r.PID), r.Address, safe(r.Status), age(now, r.Started), safe(firstOf(names)),
			safe(cmp.Or(firstOf(folders), "-")))
		for worker, ranks := range r.Ranks {
			for _, k := range ranks {
				t.row("  "+strconv.Itoa(k.PID), fmt.Sprintf("worker %d rank %d", worker, k.Rank),
					fmt.Sprintf("%d MiB", k.MemoryBytes>>20), safe(k.Device))
			}
		}
	}
	return t.Flush()
}

// firstOf returns the first words of a list and how many follow, for a narrow column; --json has all.
func firstOf(words []string) string {
	const most = 3
	if len(words) <= most+1 {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
}

// askServers asks all servers at once for their health.
func askServers(ctx context.Context, servers []process.ServerInfo) []serverRow {
	rows := make([]serverRow, len(servers))
	var asked sync.WaitGroup
	for i, s := range servers {
		asked.Go(func() { rows[i] = askServer(ctx, s) })
	}
	asked.Wait()
	return rows
}

// askServer asks a server for its health, for a short time.
func askServer(ctx context.Context, s process.ServerInfo) serverRow {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, ranks := oneshot.Status(ctx, s.Address, os.Getenv("PINION_AUTH_TOKEN"))
	row := serverRow{ServerInfo: s, Status: string(status)}
	if slices.ContainsFunc(ranks, func(r []health.Rank) bool { return r != nil }) {
		row.Ranks = ranks
	}
	return row
}

func newStop() *cobra.Command {
	return &cobra.Command{
		Use: "stop [SERVER]", Short: "Stop one of your servers on this machine", Args: oneServer,
		ValidArgsFunction: completeServers,
		Long: `Stop a server, and wait until it has ended: requests in flight may finish, for as long as its --grace says. A second
pinion stop ends it at once.

` + serverArgument,
		Example: "  pinion stop\n  pinion stop 5000\n  pinion stop ./greeter",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := findServer(process.Servers(), args)
			if err != nil {
				return process.Misused(err)
			}
			p, err := s.Open()
			if err != nil {
				return process.Failed(err)
			}
			defer p.Close()
			if err := p.Stop(); err != nil {
				return process.Failed(fmt.Errorf("stop server %d: %w", s.PID, err))
			}
			p.Ended(-1)
			_, err = fmt.Printf("stopped %d, %s\n", s.PID, s.Address)
			return process.Failed(err)
		},
	}
}

func oneServer(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one server, not %s", cmd.CommandPath(), strings.Join(args, ", "))
	}
	return nil
}

// findServer finds the server that an argument means, or the only one.
func findServer(running []process.ServerInfo, args []string) (process.ServerInfo, error) {
	var found []process.ServerInfo
	for _, s := range running {
		if len(args) == 0 || isMeant(s, args[0]) {
			found = append(found, s)
		}
	}
	why := ""
	if len(args) > 0 && len(found) == 0 {
		why = whyNotFound(args[0])
	}
	switch {
	case len(running) == 0:
		return process.ServerInfo{}, fmt.Errorf("no server of yours runs here, by the run folders in %s%s", os.TempDir(), why)
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return process.ServerInfo{}, fmt.Errorf("no server of yours is called %q%s; your servers are%s", args[0], why,
			listed(running))
	}
	return process.ServerInfo{}, errors.New("name one server by its process id: there are" + listed(found))
}

// whyNotFound says which process a word means that is not a server in the list, and how to stop it; "" means none.
func whyNotFound(word string) string {
	n, err := strconv.Atoi(word)
	if err != nil {
		return ""
	}
	owner, ok := process.OwnerOf(n)
	if !ok && 0 < n && n <= math.MaxUint16 {
		owner, ok = process.PortOwner(netip.AddrPortFrom(netip.Addr{}, uint16(n)))
	}
	switch {
	case !ok:
		return ""
	case !owner.IsOurs():
		return fmt.Sprintf(": it is %s; run this as that user", owner)
	}
	return fmt.Sprintf(": it is %s; if that is a server with another TMPDIR or in a container, run this there", owner)
}

// isMeant reports whether a word is the process id, port, address, model or model folder of a server.
func isMeant(s process.ServerInfo, word string) bool {
	if word == "" {
		return false
	}
	if word == strconv.Itoa(s.PID) || word == s.Address || strings.HasSuffix(s.Address, ":"+word) {
		return true
	}
	folder, err := filepath.Abs(word)
	return slices.ContainsFunc(s.Models, func(m process.ModelInfo) bool {
		return word == m.Name || err == nil && folder == m.Folder
	})
}

func listed(servers []process.ServerInfo) string {
	var text strings.Builder
	for _, s := range servers {
		text.WriteString("\n  " + strconv.Itoa(s.PID) + "  " + s.Address)
		var names []string
		for _, m := range s.Models {
			names = append(names, m.Name)
		}
		text.WriteString("  " + safe(firstOf(names)))
	}
	return text.String()
}
