package images

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const composeImage = "pinion" // what deploy/compose.yaml calls its image

// compose is podman-compose with deploy/compose.yaml.
type compose struct {
	store   *store
	program string
	file    string
	options []string
}

func newCompose(s *store) *compose {
	s.t.Helper()
	file := assert.Must(filepath.Abs("../../deploy/compose.yaml"))(s.t)
	program := harness.Tool(s.t, "../../.cache/images/bin/podman-compose", "podman-compose")
	return &compose{
		s, program, file,
		[]string{"--podman-args=" + cgroupManager, "--podman-run-args=" + noCgroups + " --no-healthcheck"},
	}
}

// command is one that a user gives in a folder, with some variables set.
func (c *compose) command(dir string, variables []string, args ...string) *exec.Cmd {
	cmd := c.store.isolated(slices.Concat([]string{c.program}, c.options, []string{"-f", c.file}, args)...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(cmd.Env, variables, []string{"PWD=" + dir})
	return cmd
}

func (c *compose) good(dir string, variables []string, args ...string) {
	c.store.t.Helper()
	out, err := c.command(dir, variables, args...).CombinedOutput()
	assert.NoError(c.store.t, err, "podman-compose", args, out)
}

// limits is a second compose file: with what containers may have on every machine, and a free port of the host's
// network.
const limits = `
services:
  packages: &limits
    ulimits: {nofile: 4096, nproc: 4096}
    network_mode: host
  pinion:
    <<: *limits
    environment: {PORT: "%d", PINION_HOST: 127.0.0.1}
`

// testCompose serves the folder of the checkout's that the file names, and then one below the folder where the user
// stands, whose packages it installs.
func testCompose(t *testing.T, s *store, file *compose) {
	root := assert.Must(filepath.Abs("../.."))(t)
	elsewhere := t.TempDir()
	s.write(filepath.Join(elsewhere, "models", "six", "requirements.txt"), "six==1.17.0\n")
	s.write(filepath.Join(elsewhere, "models", "six", "run.py"),
		"import os, six\n\ndef run(name: str) -> str:\n    return f'{name} {six.__version__} {os.getcwd()}'\n")
	for _, c := range []struct {
		dir, want string
		variables []string
	}{
		{root, `"hello Ada"`, nil},
		{elsewhere, `"Ada 1.17.0 /src"`, []string{"MODEL=models/six"}},
	} {
		t.Run(strings.Join(append([]string{"compose"}, c.variables...), " "), func(t *testing.T) {
			own := *s
			own.t = t
			with := *file
			with.store = &own
			port := own.freePort()
			more := filepath.Join(t.TempDir(), "limits.yaml")
			own.write(more, fmt.Sprintf(limits, port))
			down := []string{"-f", more, "down", "--volumes"}
			// Detached, it starts one service after the other: attached, podman-compose does not wait for one that has to end.
			with.good(c.dir, c.variables, "-f", more, "up", "--no-build", "--detach")
			server := own.await("compose", port, with.command(c.dir, c.variables, "-f", more, "logs", "--follow", "pinion"),
				with.command(c.dir, c.variables, down...))
			assert.Equal(t, "the output", server.predict(`{"name":"Ada"}`), c.want)
			with.good(c.dir, c.variables, down...)
			<-server.done
			assert.Contains(t, "exit code", server.log.String(), `"msg":"stopped"`)
		})
	}
}
