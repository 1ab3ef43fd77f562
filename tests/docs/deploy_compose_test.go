package docs

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// interpolated is a text of a compose file, with the variables as `docker compose` has them: ${NAME:-default},
// ${NAME:?message}.
func interpolated(t *testing.T, text string, env map[string]string) string {
	t.Helper()
	return regexp.MustCompile(`\$\{(\w+):([-?])([^}]*)\}`).ReplaceAllStringFunc(text, func(reference string) string {
		m := regexp.MustCompile(`\$\{(\w+):([-?])([^}]*)\}`).FindStringSubmatch(reference)
		switch value := env[m[1]]; {
		case value != "":
			return value
		case m[2] == "?":
			t.Errorf(`%s is not set: %s: got %q, want anything but "?"`, m[1], m[3], m[2])
			fallthrough
		default:
			return m[3]
		}
	})
}

// TestDeployCompose_ComposeFileServesWhereUserStands: both services see the folder that MODEL names from there, not
// from deploy/.
func TestDeployCompose_ComposeFileServesWhereUserStands(t *testing.T) {
	t.Parallel()
	root := harness.Absolute(t, "..")
	file := harness.ReadManifests(t, "../deploy/compose.yaml")[0]
	for _, service := range []string{"packages", "pinion"} {
		source := file.Text(t, "services", service, "volumes", 0, "source")
		assert.Equal(t, service+" sees", interpolated(t, source, map[string]string{"PWD": root}),
			filepath.Join(root, "examples/hello"))
		assert.Equal(t, service+" sees",
			interpolated(t, source, map[string]string{"PWD": "/home/ada/models", "MODEL": "ocr"}), "/home/ada/models/ocr")
		assert.Equal(t, "where "+service+" has the model", file.Text(t, "services", service, "volumes", 0, "target"), "/src")
	}
}

// TestDeployCompose_ComposeFileInstallsRequirements runs what the file's services run, with folders of the test's in
// the places of volumes.
func TestDeployCompose_ComposeFileInstallsRequirements(t *testing.T) {
	t.Parallel()
	file := harness.ReadManifests(t, "../deploy/compose.yaml")[0]
	packages, bin := filepath.Join(t.TempDir(), "packages"), harness.NewFolder(t)
	script := "#!/bin/sh\nexec " + harness.AnyPython(t).Path + ` "$@"` + "\n"
	assert.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o755))
	model := harness.NewFolder(t, "requirements.txt", "./greeting-1.0-py3-none-any.whl\n", "run.py",
		"import greeting\ndef run() -> str: return greeting.WORD\n")
	writeWheel(t, filepath.Join(model, "greeting-1.0-py3-none-any.whl"))
	service := []any{"services", "packages"}
	at := func(more ...any) []any { return append(slices.Clone(service), more...) }
	words := append(file.Texts(t, at("entrypoint")...), file.Texts(t, at("command")...)...)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "/packages", packages)
	}
	for range 2 { // the second time everything is there
		install := exec.Command(words[0], words[1:]...)
		install.Dir = model
		install.Env = append(harness.BareEnv(), "PATH="+bin+":/usr/bin:/bin", "PIP_NO_INDEX=1")
		out, err := install.CombinedOutput()
		assert.NoError(t, err, words, out)
	}
	arguments := file.Texts(t, "services", "pinion", "command")
	environment := "VIRTUAL_ENV=" +
		strings.ReplaceAll(file.Text(t, "services", "pinion", "environment", "VIRTUAL_ENV"), "/packages", packages)
	s := harness.Ready(t, harness.Options{Python: "none", Dir: model, Args: arguments[2:], Env: []string{environment}})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, `"hello"`)
}

// writeWheel writes a package of one module.
func writeWheel(t *testing.T, path string) {
	t.Helper()
	file := assert.Must(os.Create(path))(t)
	defer file.Close()
	archive := zip.NewWriter(file)
	for name, text := range map[string]string{
		"greeting.py":                     "WORD = 'hello'\n",
		"greeting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
		"greeting-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"greeting-1.0.dist-info/RECORD":   "greeting.py,,\ngreeting-1.0.dist-info/METADATA,,\ngreeting-1.0.dist-info/WHEEL,,\ngreeting-1.0.dist-info/RECORD,,\n",
	} {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		assert.NoError(t, err)
	}
	assert.NoError(t, archive.Close())
}
