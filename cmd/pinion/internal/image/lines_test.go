package image

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestPlan_NoTextAddsInstructions: a text of cog.yaml that would begin lines of its own is refused with its line, or
// quoted.
func TestPlan_NoTextAddsInstructions(t *testing.T) {
	const attack = `A=1\nRUN touch /x\nENTRYPOINT [\"/bin/sh\"]\n#`
	for _, c := range []struct{ text, refused string }{
		{"environment: [\"%s\"]", "cog.yaml:1: environment: "},
		{
			"environment: [\"A 1\\nRUN touch /x\\nENV B=x\"]",
			`cog.yaml:1: environment: "A 1\nRUN touch /x\nENV B=x" is not NAME=value`,
		},
		{"environment: [\"A B=1\"]", `cog.yaml:1: environment: "A B=1" is not NAME=value`},
		{"environment: [\"A=1\\rRUN touch /x\"]", "cog.yaml:1: environment: "},
		{"build:\n  python_packages: [\"%s\"]", "cog.yaml:2: build.python_packages: "},
		{"build:\n  system_packages: [\"%s\"]", "cog.yaml:2: build.system_packages: "},
		{"build:\n  python_requirements: \"%s\"", "cog.yaml:2: build.python_requirements: "},
		{"build:\n  python_find_links: [\"https://x/%s\"]", "cog.yaml:2: build.python_find_links: "},
		{"build:\n  python_extra_index_urls: [\"https://x/%s\"]", "cog.yaml:2: build.python_extra_index_urls: "},
		{"build:\n  python_version: \"3.12\\nRUN touch /x\"", "cog.yaml:2: build.python_version: "},
		{"build:\n  cuda: \"12.4\\nRUN touch /x\"", "cog.yaml:2: build.cuda: "},
		{
			"build:\n  run:\n  - command: ls\n    mounts:\n    - {type: secret, id: \"%s\", target: /t}",
			"cog.yaml:5: build.run.mounts.id: ",
		},
		{
			"build:\n  run:\n  - command: ls\n    mounts:\n    - {type: cache, target: \"/%s\"}",
			"cog.yaml:5: build.run.mounts.target: ",
		},
		{
			"build:\n  run:\n  - command: ls\n    mounts:\n    - {type: cache, target: '/a\\'}",
			"cog.yaml:5: build.run.mounts: ",
		},
		{"weights:\n- {name: a, target: \"%s\"}", "cog.yaml:2: weights.target: "},
		{"weights:\n- {name: a, source: \"%s\"}", "cog.yaml:2: weights.source: "},
		{"weights:\n- {name: a, source: {uri: \"https://x/%s\"}, target: a}", "cog.yaml:2: weights.source.uri: "},
		{"image: \"%s\"", "cog.yaml:1: image: "},
		{"build:\n  run: [\"true\\nRUN touch /x\"]", ""},
		{"build:\n  pre_install: [\"true\\rRUN touch /x\"]", ""},
		{"build:\n  run: [\"cat <<END\", \"touch /x\", \"END\"]", ""},
		{"build:\n  run: [\"true \\\\\", \"touch /x\"]", ""},
		{"description: \"%s\"", ""},
		{"x-own: \"%s\"", ""},
	} {
		dir := t.TempDir()
		text := strings.ReplaceAll(c.text, "%s", attack)
		for name, content := range map[string]string{"cog.yaml": text, "run.py": ""} {
			assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		plan, problems := New(dir, Options{Title: "a\nRUN touch /x"})
		if c.refused != "" {
			got := said(problems)
			assert.True(t, plan == nil && strings.HasPrefix(got, c.refused), "%s: got %q, want %s…", text, got, c.refused)
			continue
		}
		if plan == nil {
			t.Errorf("%s: got %s, want a Dockerfile", text, said(problems))
			continue
		}
		for line := range strings.Lines(plan.Text()) {
			if strings.HasPrefix(line, "RUN touch") && !strings.Contains(c.text, `"touch /x"`) ||
				strings.HasPrefix(line, "ENTRYPOINT [\"/bin/sh") ||
				strings.HasPrefix(line, "RUN cat <<") || strings.Contains(line, "\r") {
				t.Errorf("%s: got %q, want %q in the Dockerfile, and no line of its own", text, line, c.text)
			}
		}
	}
}

// TestPlan_NamesOfFilesAreQuoted: names that the folder has, not the file.
func TestPlan_NamesOfFilesAreQuoted(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		assert.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		assert.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("a $HOME/cog.yaml", "weights:\n- {source: '!w', target: '/w/$HOME'}\n- {source: '#x', target: x}\n")
	write("a $HOME/!w/b", "")
	write("a $HOME/#x", "")
	plan, problems := New(filepath.Join(root, "a $HOME"), Options{Context: root})
	if plan == nil {
		t.Fatalf("got %q, nil, want non-nil", said(problems))
	}
	for _, want := range []string{
		`WORKDIR "/src/a \$HOME"` + "\n", `COPY --from=weights --chown=10001:10001 ["a \\$HOME/!w", "/w/\\$HOME"]` + "\n",
	} {
		assert.Contains(t, "plan.Text()", plan.Text(), want)
	}
	write("cog.yaml", "weights:\n- {source: '!w', target: w}\n- {source: '#x', target: x}\n")
	write("!w/b", "")
	write("#x", "")
	if plan, problems = New(root, Options{}); plan == nil {
		t.Fatalf("got %q, nil, want non-nil", said(problems))
	}
	assert.Contains(t, "plan.Ignore()", plan.Ignore(), "\\!w\n\\#x\n")
	write("cog.yaml", "weights:\n- {source: {uri: ., include: ['*.bin']}, target: w}\n")
	write("a.bin", "")
	if plan, problems = New(root, Options{}); plan == nil {
		t.Fatalf("got %q, nil, want non-nil", said(problems))
	}
	got := plan.Ignore()
	assert.True(t, strings.Contains(got, "\na.bin\n") && !strings.Contains(got, "\n.\n"), "got %s\nwant the file alone", got)
	write("cog.yaml", "weights:\n- {source: ., target: w}\n")
	plan, problems = New(root, Options{})
	assert.True(t, plan == nil && strings.Contains(fmt.Sprint(problems), "has the code"), "got %v, want a problem", problems)
	write("line\nbreak/cog.yaml", "")
	plan, problems = New(filepath.Join(root, "line\nbreak"), Options{Context: root})
	assert.True(t, plan == nil && strings.Contains(fmt.Sprint(problems), "control character"), "got %v, want a problem", problems)
}
