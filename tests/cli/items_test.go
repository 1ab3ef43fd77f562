package cli

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// itemsModel yields what it hears.
const itemsModel = `
from collections.abc import Iterator

import cog

class Audio(cog.BaseRunner):
    def run(self, audio: Iterator[bytes], name: str = "", fail: bool = False) -> Iterator[dict]:
        for chunk in audio:
            if fail:
                raise ValueError("no ears")
            yield {"name": name, "heard": chunk.hex()}

class Numbers(cog.BaseRunner):
    def run(self, numbers: Iterator[int]) -> int:
        return sum(numbers)

class Words(cog.BaseRunner):
    def run(self, words: Iterator[str]) -> Iterator[str]:
        yield from words
`

// TestPredictItems_OfAPipe: the model answers an item before the next one is written, in a worker and at a server.
func TestPredictItems_OfAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), itemsModel)
	harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), "run: run.py:Audio\n")
	s := harness.Ready(t, harness.Options{Dir: dir})
	for name, arguments := range map[string][]string{
		"a worker": {dir},
		"a server": {"--url", s.Address},
	} {
		cmd, _, says := harness.CLI{}.Start(t, append([]string{"predict", "-i", "audio=@-", "-i", "name=n"}, arguments...)...)
		cmd.Stdin, cmd.Stdout = nil, nil
		to := assert.Must(cmd.StdinPipe())(t)
		output := bufio.NewReader(assert.Must(cmd.StdoutPipe())(t))
		harness.StartCommand(t, cmd)
		for _, each := range []string{"\xff\x00", "a", "\n\n"} {
			_, err := io.WriteString(to, each)
			assert.NoError(t, err, name)
			line, err := output.ReadString('\n')
			assert.NoError(t, err, "%s: %s", name, says)
			harness.EqualJSON(t, name, []byte(line), fmt.Sprintf(`{"name": "n", "heard": "%x"}`, each))
		}
		assert.NoError(t, to.Close(), name)
		rest := assert.Must(io.ReadAll(output))(t)
		assert.NoError(t, cmd.Wait(), "%s: %s", name, says)
		assert.Equal(t, name+": what follows the last item", string(rest), "")
	}
}

// TestPredictItems_Lines of other types are items, of a file too.
func TestPredictItems_Lines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), itemsModel)
	harness.WriteFile(t, filepath.Join(dir, "lines"), "1\n\n2\r\n39")
	for _, c := range []struct{ class, input, stdin, want, says string }{
		{"Numbers", "numbers=@-", "1\n2\n3", "6\n", ""},
		{"Numbers", "numbers=@" + filepath.Join(dir, "lines"), "", "42\n", ""},
		{"Numbers", "numbers=@-", "1\nx\n", "", `numbers/1: "x" is not of type "integer"`},
		{"Numbers", "numbers=@missing", "", "", "no such file"},
		{"Words", "words=@-", "a \n\"b\"\n", "a \n\"b\"\n", ""},
		{"Words", "words=@-", "", "", ""},
		{"Audio", "audio=@-", "", "", ""},
	} {
		harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), "run: run.py:"+c.class+"\n")
		got := harness.CLI{Dir: dir, Stdin: c.stdin}.Run(t, "predict", "-i", c.input)
		assert.Equal(t, c.input+" "+c.stdin+": stdout", got.Stdout, c.want)
		assert.Contains(t, c.input+": stderr", got.Stderr, c.says)
		assert.Equal(t, c.input+": exit code", got.Code != 0, c.says != "")
	}
}
