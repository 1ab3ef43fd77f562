package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// ./build.sh cluster sets these, and this program the last one.
const (
	envPrograms    = "PINION_TEST_CLUSTER"     // folders of etcd, kube-apiserver, …, with colons between them
	envDefinitions = "PINION_TEST_DEFINITIONS" // folders of the modules of KEDA and the Prometheus Operator
	envInside      = "PINION_TEST_CLUSTER_INSIDE"
)

// TestMain runs the tests in separate namespaces: they may take any address and port, name hosts, and leave neither
// process nor file.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envPrograms) == "":
		os.Exit(m.Run()) // nothing but a skip
	case os.Getenv(envInside) == "":
		os.Exit(enter())
	default:
		os.Exit(harness.Main(m, "."))
	}
}

// inside makes all of 10.244.0.0/16 addresses of this host, in its namespace.
const inside = `ip link set lo up && ip route add local 10.244.0.0/16 dev lo && mount -t tmpfs tmpfs "$1" &&
cp /etc/hosts "$1/hosts" && mount --bind "$1/hosts" /etc/hosts && shift && "$@"`

func enter() int {
	folder, err := os.MkdirTemp("", "cluster-of-pinion-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for this run:", err)
		return 1
	}
	defer os.RemoveAll(folder)
	args := []string{
		"--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", inside, "inside", folder,
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	cmd := exec.CommandContext(ctx, "unshare", append(append(args, os.Args[0]), os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), envInside+"=1", "TMPDIR="+folder)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in separate namespaces:", err)
		return 1
	}
	return 0
}

// program is one that ./build.sh cluster made.
func program(t *testing.T, name string) string {
	t.Helper()
	for folder := range strings.SplitSeq(os.Getenv(envPrograms), ":") {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	t.Fatalf("got no %s in %s, want it there", name, os.Getenv(envPrograms))
	return ""
}
