package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestCLI_HostileFilesAreBounded: a small file that took gigabytes, minutes or 400 kB of messages.
func TestCLI_HostileFilesAreBounded(t *testing.T) {
	t.Parallel()
	lines := func(n int, format string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format, i)
		}
		return text.String()
	}
	aliases := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	most := "409600" // KiB
	if harness.Sanitized(t) {
		most = "unlimited"
	}
	for _, c := range []struct{ name, text, want string }{
		{"aliases", aliases, "cog.yaml:1: values are nested more than"},
		{"brackets", strings.Repeat("[", 100_000), "cog.yaml: the file is too large"},
		{"keys", lines(25_000, "key%d: 1\n"), "and "},
		{"documents", strings.Repeat("--- a\n", 25_000), "cog.yaml:1: the file is a text"},
		{"a long key", strings.Repeat("a", 270_000) + ": 1\n", "cog.yaml:1: "},
		{"packages", "build:\n  python_packages:\n" + lines(25_000, "  - \"a\\n%d\"\n"), "cog.yaml:3: build.python_packages"},
		{"two megabytes", strings.Repeat("#", 2<<20), "cog.yaml: larger than 1 MiB"},
	} {
		dir := harness.NewFolder(t, "cog.yaml", c.text, "run.py", "def run() -> int: return 1\n")
		for _, command := range []string{"check", "doctor", "dockerfile", "predict"} {
			cmd, stdout, stderr := harness.CLI{Dir: dir}.Start(t, command)
			// A limit, not its peak: where this process starts a program, the kernel counts our own memory as its.
			cmd.Args = append([]string{"sh", "-c", "ulimit -d " + most + ` && exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
			_ = cmd.Run()
			got := stdout.String() + stderr.String()
			assert.True(t, len(got) <= 100_000,
				"%s of %s: got %d bytes of messages, want at most 100_000 bytes", command, c.name, len(got))
			assert.True(t, command == "predict" || strings.Contains(got, c.want),
				"%s of %s: got %.400s, want %s", command, c.name, got, c.want)
			assert.True(t, !strings.Contains(got, "out of memory") && !strings.Contains(got, "cannot allocate memory"),
				"%s of %s: got %.400s, want at most %s KiB of memory", command, c.name, got, most)
		}
	}
}

// TestCLI_EndlessFilesAreRefused: a folder from elsewhere may have a link to a device.
func TestCLI_EndlessFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"cog.yaml": "check", ".cog/openapi_schema.json": "schema", "requirements.txt": "dockerfile", "pinion.yaml": "serve",
		"tokens": "serve",
	} {
		c := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n", ".cog/x", "")}
		args := []string{command}
		switch name {
		case "requirements.txt":
			harness.WriteFile(t, filepath.Join(c.Dir, "cog.yaml"),
				"run: run.py:run\nbuild:\n  python_requirements: requirements.txt\n")
		case "pinion.yaml":
			args = append(args, "--config", name)
		case "tokens":
			args = append(args, "--port", "0", "--auth-token-file", name)
		}
		assert.NoError(t, os.Symlink("/dev/zero", filepath.Join(c.Dir, name)))
		got := c.Run(t, args...)
		assert.True(t, got.Code != 0 && strings.Contains(got.Stdout+got.Stderr, "larger than"),
			`%s: got %d, %.400s, want not 0 and a text with "larger than"`, name, got.Code, got.Stdout+got.Stderr)
	}
}

// TestCLI_ByteOrderMarksAreSkipped: editors of Windows write them, and PowerShell writes UTF-16.
func TestCLI_ByteOrderMarksAreSkipped(t *testing.T) {
	t.Parallel()
	const bom = "\ufeff"
	utf16 := func(text string) string {
		wide := "\xff\xfe"
		for _, r := range text {
			wide += string([]byte{byte(r), 0})
		}
		return wide
	}
	const code = "def run(x: int) -> int: return x + 1\n"
	schema := harness.CLI{Dir: harness.NewFolder(t, "run.py", code)}.Good(t, "schema")
	for _, encode := range []func(string) string{func(text string) string { return bom + text }, utf16} {
		c := harness.CLI{Dir: harness.NewFolder(t,
			"cog.yaml", encode("run: run.py:run\nbuild:\n  python_requirements: requirements.txt\n"), "run.py", bom+code,
			"requirements.txt", bom+"# none\n", ".dockerignore", encode("data\n"), "in.json", encode(`{"x": 1}`),
			"pinion.yaml", encode("models:\n  a: {path: .}\n"), "tokens", encode("a-token-that-is-long-enough-for-it\n"),
			".cog/openapi_schema.json", encode(schema),
		)}
		assert.Contains(t, "check", c.Good(t, "check"), "no problem: run.py:run")
		assert.Contains(t, "doctor", c.Good(t, "doctor"), "0 problems and 0 differences")
		assert.Contains(t, "dockerfile", c.Good(t, "dockerfile", "-o", "Dockerfile"))
		assert.Contains(t, "the ignore file", harness.ReadFile(t, filepath.Join(c.Dir, "Dockerfile.dockerignore")),
			"\ndata\n")
		assert.Contains(t, "schema", c.Good(t, "schema"), `"openapi"`)
		assert.Contains(t, "predict", c.Good(t, "predict", "--json", "@in.json"), `"output": 2`)
		s := harness.Start(t, harness.Options{
			Models: []string{"--config", filepath.Join(c.Dir, "pinion.yaml")}, Python: harness.AnyPython(t).Path,
			Args: []string{"--auth-token-file", filepath.Join(c.Dir, "tokens")},
		})
		s.WaitHealth("READY")
	}
}
