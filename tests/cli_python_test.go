package tests

import (
	"regexp"
	"testing"

	"pinion/tests/harness"
)

func TestCLIPython_HasThePackageThatServingGives(t *testing.T) {
	t.Parallel()
	const seen = "import cog, sys; from run import Runner; print(cog.__file__.split('/')[-3][:4], sys.executable)"
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := cli{python: python.Path, dir: example(t, "hello")}
		same(t, "the package and the Python", c.good(t, "python", "-c", seen), "sdk- "+python.Path+"\n")
	})
}

func TestCLIPython_RunsTheTestsOfAModel(t *testing.T) {
	t.Parallel()
	text := readFile(t, "../docs/how-to/test.md")
	var files []string
	for _, name := range []string{"run.py", "test_run.py"} {
		code := regexp.MustCompile(`(?m)^    # ` + name + `\n(?:(?:    (?:[^#\n].*)?)?\n)+`).FindString(text)
		if code == "" {
			t.Fatalf("docs/how-to/test.md has no program %s", name)
		}
		files = append(files, name, regexp.MustCompile(`(?m)^    `).ReplaceAllString(code, ""))
	}
	c := cli{dir: folder(t, files...)}
	wantText(t, "pytest's output", c.good(t, "python", "-m", "pytest", "-p", "no:cacheprovider",
		"--basetemp", t.TempDir()+"/files"), " passed")
	wrong := cli{dir: folder(t, "test_run.py", "def test_run():\n    import run\n")}
	if got := wrong.run(t, "python", "-m", "pytest", "-p", "no:cacheprovider"); got.code != 1 {
		t.Errorf("pytest that fails: got exit code %d, want 1:\n%s", got.code, got.stdout)
	}
}

func TestCLIPython_WithoutPython(t *testing.T) {
	t.Parallel()
	c := cli{python: "/nowhere/python", dir: t.TempDir()}
	wantText(t, "the message", c.bad(t, 2, "python", "-c", "1"), "/nowhere/python")
	wantText(t, "the help", c.good(t, "python", "--help"), "pinion python -m pytest")
}
