package cli

import (
	"fmt"
	"os"
	"strconv"

	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/process"
)

// Run runs a command line and returns the exit code.
func Run(args []string) int {
	root := newRoot()
	root.SetArgs(joinWords(args))
	code, err := process.ExitCode(root.Execute())
	if err != nil {
		// As for the log: a stderr without a reader must not keep the process from its exit code.
		stderr := logging.Open(int(os.Stderr.Fd()), logging.BufferSize)
		fmt.Fprintln(stderr, "pinion: "+err.Error())
		stderr.Flush(logging.FlushTimeout)
	}
	return code
}

// joinWords makes one word of a flag and its value where Cog's server takes the value as the next word, and a flag of
// ours, which needs none, does not.
func joinWords(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--await-explicit-shutdown" && i+1 < len(args) {
			if _, err := strconv.ParseBool(args[i+1]); err == nil {
				i++
				word += "=" + args[i]
			}
		}
		joined = append(joined, word)
	}
	return joined
}
