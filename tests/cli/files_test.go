package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestFiles_CLIInputFilesKeepTheirNames: the model sees them, in a list as well, by a server too.
func TestFiles_CLIInputFilesKeepTheirNames(t *testing.T) {
	t.Parallel()
	const source = `
from cog import Path
def run(images: list[Path], one: Path) -> str:
    return " ".join(f"{p.name}={p.read_text()}" for p in [*images, one])
`
	c := harness.CLI{
		Dir:   harness.NewFolder(t, "run.py", source, "a.png", "1", "sub/b c+ä.txt", "2", "Makefile", "3", "x.tar.gz", "4"),
		Stdin: "5",
	}
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	for _, where := range [][]string{nil, {"--url", s.Address}} {
		args := append([]string{
			"predict", "-i", "images=@a.png", "-i", "images=@sub/b c+ä.txt", "-i", "images=@Makefile",
			"-i", "images=@x.tar.gz", "-i", "one=@-",
		}, where...)
		assert.Equal(t, fmt.Sprintf("%q: the model sees", where), c.Good(t, args...),
			"a.png=1 b c+ä.txt=2 Makefile=3 x.tar.gz=4 file.txt=5\n")
	}
}

// treeModel returns files within objects and lists.
const treeModel = `
from typing import Any, Optional
from cog import BaseModel, Path

class Part(BaseModel):
    label: str
    mask: Path
    more: Optional[Path] = None

class Output(BaseModel):
    image: Path
    parts: list[Part]
    note: str
    none: Optional[Path] = None

def file(name, text):
    Path(name).write_text(text)
    return Path(name)

def tree() -> Output:
    return Output(image=file("i.png", "\x89PNG\r\n"), note="data:text/plain;base64,eA==",
        parts=[Part(label="a", mask=file("m.txt", "m0")), Part(label="b", mask=file("n.txt", "m1"), more=file("o.json", "{}"))])

def free() -> dict[str, Any]:
    return {"a/b": file("a.txt", "1"), "a_b": file("b.txt", "2"), "c.txt": file("c.txt", "3"), "d": [file("d.txt", "4"), "text", 5], "e": "data:text/plain,x"}

def single() -> Any:
    return file("s.txt", "alone")
`

func TestFiles_CLIFilesWithinOutputsAreWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		function string
		args     []string
		stdout   string // JSON
		files    map[string]string
	}{
		{
			"tree", nil, `{"image":"output.image.png","parts":[{"label":"a","mask":"output.parts.0.mask.txt","more":null},
			{"label":"b","mask":"output.parts.1.mask.txt","more":"output.parts.1.more.json"}],"note":"data:text/plain;base64,eA==","none":null}`,
			map[string]string{
				"output.image.png": "\u0089PNG\r\n", "output.parts.0.mask.txt": "m0",
				"output.parts.1.mask.txt": "m1", "output.parts.1.more.json": "{}",
			},
		},
		{
			"free", nil, `{"a/b":"output.a_b.txt","a_b":"output.a_b-2.txt","c.txt":"output.c.txt","d":["output.d.0.txt","text",5],"e":"data:text/plain,x"}`,
			map[string]string{"output.a_b.txt": "1", "output.a_b-2.txt": "2", "output.c.txt": "3", "output.d.0.txt": "4"},
		},
		{
			"free",
			[]string{"-o", "there/all.json"},
			"",
			map[string]string{
				"there/all.a_b.txt": "1", "there/all.a_b-2.txt": "2", "there/all.c.txt": "3",
				"there/all.d.0.txt": "4",
			},
		},
		{"single", nil, "", map[string]string{"output.txt": "alone"}},
		{"single", []string{"-o", "there/x"}, "", map[string]string{"there/x": "alone"}},
	} {
		t.Run(c.function+strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			run := harness.CLI{Dir: harness.NewFolder(t, "run.py", treeModel, "there/keep", "")}
			got := run.Run(t, append([]string{"predict", "--predictor", "run.py:" + c.function}, c.args...)...)
			assert.EqualNow(t, "exit code: "+got.Stderr, got.Code, 0)
			if c.stdout != "" {
				harness.EqualJSON(t, "stdout", json.RawMessage(got.Stdout), c.stdout)
			} else if got.Stdout != "" {
				t.Errorf("stdout is %q", got.Stdout)
			}
			for name, want := range c.files {
				text, err := os.ReadFile(filepath.Join(run.Dir, name))
				assert.True(t, err == nil && string(text) == want, "%s holds %q: %v, want %q", name, text, err, want)
				assert.Contains(t, "stderr", got.Stderr, "Written output to: "+name+"\n")
			}
			if slices.Contains(c.args, "there/all.json") {
				text := harness.ReadFile(t, filepath.Join(run.Dir, "there/all.json"))
				harness.EqualJSON(t, "the file", json.RawMessage(text),
					`{"a/b":"there/all.a_b.txt","a_b":"there/all.a_b-2.txt","c.txt":"there/all.c.txt","d":["there/all.d.0.txt","text",5],"e":"data:text/plain,x"}`)
			}
		})
	}
}
