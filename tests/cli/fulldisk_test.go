package cli

import (
	"os"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestFullDisk_OutputIsLost: a command that cannot write its output fails, and does not take the disk for a wrong usage.
func TestFullDisk_OutputIsLost(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", "def run(text: str = 'a') -> str:\n    return text\n")
	for _, line := range []string{
		"", "version", "--version", "completion bash", "completion fish", "completion powershell", "schema", "check",
		"check --json", "doctor", "dockerfile", "predict", "bench -d 100ms --warmup 0s", "bench -d 100ms --warmup 0s -o -",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer full.Close()
			cmd, _, stderr := harness.CLI{Dir: dir}.Start(t, strings.Fields(line)...)
			cmd.Stdout = full
			_ = cmd.Run() // the exit code tells
			assert.Equal(t, "exit code", cmd.ProcessState.ExitCode(), 1)
			assert.Contains(t, "stderr", stderr.String(), "no space left on device")
			assert.False(t, strings.Contains(stderr.String(), "\nSee "), "got %q, want no page about usage", stderr)
		})
	}
}
