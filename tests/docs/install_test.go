package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestInstall_FromAClone goes through README's first commands: the installed binary makes a model, which predicts.
func TestInstall_FromAClone(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	python, home := harness.AnyPython(t), t.TempDir()
	install := exec.Command("../build.sh", "install")
	install.Env = append(os.Environ(), "HOME="+home, "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	out, err := install.CombinedOutput()
	assert.NoError(t, err, out)
	folder := filepath.Join(home, ".local", "bin")
	assert.Contains(t, "what is said", string(out), "installed pinion ")
	assert.Contains(t, "what is said of the PATH", string(out), `export PATH="`+folder+`:$PATH"`)
	for _, line := range []string{"pinion init greeter", "pinion predict greeter -i name=Ada"} {
		run := exec.Command("bash", "-c", line)
		run.Dir = home
		run.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "PINION_PYTHON="+python.Path)
		out, err = run.CombinedOutput()
		assert.NoError(t, err, line, out)
	}
	assert.Contains(t, "the prediction", string(out), "Ada")
	_, err = os.Stat(filepath.Join(folder, "pinion-nats"))
	assert.NoError(t, err)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out := assert.Must(exec.Command("go", "env", name).Output())(t)
	return strings.TrimSpace(string(out))
}
