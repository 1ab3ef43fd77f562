package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestDoctorReport_Settings: the keys of cog.yaml and the requirements that have another effect here.
// tests/cli/doctor_test.go has the source, too.
func TestDoctorReport_Settings(t *testing.T) {
	const run = "run: run.py:Runner\n"
	for _, c := range []struct{ name, config, want string }{
		{"nothing", run, ""},
		{"keys without an effect", "build:\n  cog_runtime: true\n" + run, "cog.yaml:2: build.cog_runtime has no effect"},
		{
			"a compiler that is there", "build:\n  pre_install: [make -C /x]\n  system_packages: [build-essential]\n" + run,
			"cog.yaml:3: packages that these only recommend",
		},
		{"a compiler that is not", "build:\n  pre_install: [cd /x && make]\n" + run, "cog.yaml:2: this command compiles"},
		{"no compiler's name", "build:\n  run: [cmaker --gcc-like, apt-get install gcc]\n" + run, ""},
		{"Cog's commands", "build:\n  run: [cog serve]\n" + run, "cog.yaml:2: this command runs Cog"},
		{"Cog's package", "build:\n  python_packages: [numpy, Cog==0.9]\n" + run, "cog.yaml:2: Cog is among the packages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"cog.yaml": c.config, "run.py": ""} {
				assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			report, err := examine(dir, nil)
			assert.TrueNow(t, err == nil && len(report.Problems) == 0, "%+v, %v, want none", report, err)
			var text string
			for _, d := range report.Differences {
				text += d.String() + "\n"
			}
			assert.True(t, (text == "") == (c.want == "") && strings.HasPrefix(text, c.want), "it says %q, want %q", text, c.want)
		})
	}
}
