package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/tests/assert"
)

// envNATS makes the test's program a NATS server with these settings, in JSON.
const envNATS = "PINION_TEST_NATS"

// natsSettings are those of a NATS server.
type natsSettings struct {
	Name    string
	Host    string // "" means 127.0.0.1
	Port    int
	Dir     string
	Cluster int   // port; 0 means it stands alone
	Peers   []int // the ports of the cluster's servers
	User    string
	Pass    string
	Cert    string // a PEM file; "" means no TLS
	Key     string
	CA      string // of the certificates that clients must have
	Conf    string // deploy/nats/nats.conf
	// Models are the models whose members' permissions of deploy/nats apply to clients without a password; nil means
	// that clients may do everything.
	Models []string
}

// NATS is a NATS server with JetStream in its own process.
type NATS struct {
	URL string
	PID int

	t        testing.TB
	settings natsSettings
	cmd      *exec.Cmd
	exited   chan struct{}
}

// StartNATS starts a NATS server and waits until it answers. Its clients may do what deploy/nats allows members of the
// model "m".
func StartNATS(t testing.TB) *NATS {
	t.Helper()
	return StartNATSOf(t, "m")
}

// StartNATSOf does the same for other models, by the names of their queues.
func StartNATSOf(t testing.TB, models ...string) *NATS {
	t.Helper()
	return startNATS(t, natsSettings{Name: "nats", Port: freePorts(t, 1)[0], Dir: t.TempDir(), Models: models})
}

// StartNATSFor starts a NATS server that one user may use.
func StartNATSFor(t testing.TB, user, pass string) *NATS {
	t.Helper()
	return startNATS(t, natsSettings{Name: "nats", Port: freePorts(t, 1)[0], Dir: t.TempDir(), User: user, Pass: pass})
}

// StartNATSWithTLS starts a NATS server that wants a certificate of its clients, signed by ca. All are PEM files.
func StartNATSWithTLS(t testing.TB, ca, cert, key string) *NATS {
	t.Helper()
	return startNATS(t, natsSettings{
		Name: "nats", Port: freePorts(t, 1)[0], Dir: t.TempDir(), CA: ca, Cert: cert,
		Key: key,
	})
}

// StartNATSAt starts a NATS server on another address of this host.
func StartNATSAt(t testing.TB, host string) *NATS {
	t.Helper()
	return startNATS(t, natsSettings{
		Name: "nats", Host: host, Port: freePorts(t, 1)[0], Dir: t.TempDir(),
		Models: []string{"m"},
	})
}

// StartNATSCluster starts three NATS servers that store everything together.
func StartNATSCluster(t testing.TB) []*NATS {
	t.Helper()
	const servers = 3
	ports := freePorts(t, 2*servers)
	cluster := make([]*NATS, servers)
	for i := range cluster {
		cluster[i] = startNATS(t, natsSettings{
			Name: fmt.Sprint("nats", i), Port: ports[i], Dir: t.TempDir(), Cluster: ports[servers+i], Peers: ports[servers:],
		})
	}
	return cluster
}

func startNATS(t testing.TB, settings natsSettings) *NATS {
	settings.Conf = filepath.Join(checkout(t), "deploy", "nats", "nats.conf")
	settings.Host = cmp.Or(settings.Host, "127.0.0.1")
	n := &NATS{t: t, settings: settings, URL: fmt.Sprintf("nats://%s:%d", settings.Host, settings.Port)}
	n.Start()
	t.Cleanup(n.Kill)
	return n
}

// checkout returns the folder of this checkout, which is above that of the test.
func checkout(t testing.TB) string {
	t.Helper()
	folder := assert.Must(os.Getwd())(t)
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
	}
	t.Fatal("no folder above the test has a go.mod, want one")
	return ""
}

// Start starts the server again, on its folder and port.
func (n *NATS) Start() {
	n.t.Helper()
	text := assert.Must(json.Marshal(n.settings))(n.t)
	program := assert.Must(os.Executable())(n.t)
	n.cmd = exec.Command(program)
	n.cmd.Env = append(BareEnv(), envNATS+"="+string(text))
	n.cmd.Stderr = os.Stderr
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	assert.NoError(n.t, n.cmd.Start(), "start NATS")
	n.PID = n.cmd.Process.Pid
	n.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(n.cmd, n.exited)
	assert.Eventually(n.t, "NATS answers", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(n.URL, "nats://"))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// Operator returns the URL of a user who may do everything.
func (n *NATS) Operator() string { return strings.Replace(n.URL, "//", "//operator:secret@", 1) }

// Kill ends the server at once. Its folder stays.
func (n *NATS) Kill() {
	_ = n.cmd.Process.Kill() // it may have ended
	<-n.exited
}

// RemoveStore removes what a server that was killed has stored.
func (n *NATS) RemoveStore() {
	n.t.Helper()
	assert.NoError(n.t, os.RemoveAll(filepath.Join(n.settings.Dir, "jetstream")))
}

// Signal sends the server a signal.
func (n *NATS) Signal(sig syscall.Signal) {
	n.t.Helper()
	assert.NoError(n.t, n.cmd.Process.Signal(sig))
}

// givenPorts are the ports that freePorts has returned: the port of a NATS that was killed is free, and still reserved
// for it.
var givenPorts sync.Map

// freePorts returns ports that were free a moment ago, and that no other test of this process has.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for len(ports) < n {
		ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer ln.Close()
		port := ln.Addr().(*net.TCPAddr).Port
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			ports = append(ports, port)
		}
	}
	return ports
}

// serveNATS is the main function of a NATS server's process.
func serveNATS(text string) int {
	var s natsSettings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, "read the settings of NATS:", err)
		return 1
	}
	o := &server.Options{
		ServerName: s.Name, Host: s.Host, Port: s.Port, NoSigs: true, JetStream: true, StoreDir: s.Dir,
		JetStreamMaxStore: 8 << 30, JetStreamMaxMemory: 64 << 20, Username: s.User, Password: s.Pass,
	}
	if s.Cert != "" {
		config, err := server.GenTLSConfig(
			&server.TLSConfigOpts{CertFile: s.Cert, KeyFile: s.Key, CaFile: s.CA, Verify: true})
		if err != nil {
			fmt.Fprintln(os.Stderr, "read the certificates of NATS:", err)
			return 1
		}
		o.TLS, o.TLSConfig, o.TLSVerify, o.TLSTimeout = true, config, true, 30
	}
	if len(s.Models) > 0 {
		if err := restrict(o, &s); err != nil {
			fmt.Fprintln(os.Stderr, "read deploy/nats:", err)
			return 1
		}
	}
	if s.Cluster != 0 {
		o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: s.Cluster}
		var routes []string
		for _, port := range s.Peers {
			routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
		}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
	}
	n, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start NATS:", err)
		return 1
	}
	n.Start()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	n.Shutdown()
	return 0
}

// IsNATS reports whether this process is to be a NATS server, which Main is.
func IsNATS() bool { return os.Getenv(envNATS) != "" }

// restrict gives the clients of some models the permissions of deploy/nats/nats.conf.
func restrict(o *server.Options, s *natsSettings) error {
	text, err := os.ReadFile(s.Conf)
	if err != nil {
		return err
	}
	var conf strings.Builder
	for line := range strings.Lines(string(text)) {
		models := s.Models[:1]
		// what is allowed or denied
		if strings.HasPrefix(strings.TrimSpace(line), `"`) && strings.Contains(line, "my-model") {
			models = s.Models
		}
		for _, model := range models {
			conf.WriteString(strings.ReplaceAll(line, "my-model", model))
		}
	}
	file := filepath.Join(s.Dir, "nats.conf")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"MEMBER_PASSWORD", "OPERATOR_PASSWORD"} {
		if err := os.Setenv(name, "secret"); err != nil {
			return err
		}
	}
	read, err := server.ProcessConfigFile(file)
	if err != nil {
		return err
	}
	o.Users, o.NoAuthUser, o.MaxPayload = read.Users, s.Models[0], read.MaxPayload
	return nil
}

// jetStream asks a server of NATS; nil means it does not answer.
func (n *NATS) jetStream() (jetstream.JetStream, func()) {
	o := []nats.Option{nats.Timeout(time.Second)}
	if len(n.settings.Models) > 0 {
		o = append(o, nats.UserInfo("operator", "secret"))
	}
	nc, err := nats.Connect(n.URL, o...)
	if err != nil {
		return nil, func() {}
	}
	js, _ := jetstream.New(nc)
	return js, nc.Close
}

// streamInfo returns what the cluster knows of a stream; nil means it does not answer.
func streamInfo(cluster []*NATS, stream string) *jetstream.StreamInfo {
	for _, n := range cluster {
		js, end := n.jetStream()
		if js == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		s, err := js.Stream(ctx, stream)
		cancel()
		end()
		if err == nil {
			return s.CachedInfo()
		}
	}
	return nil
}

// StreamLeader returns the index of the server that leads a stream.
func StreamLeader(t testing.TB, cluster []*NATS, stream string) (leader int) {
	t.Helper()
	assert.Eventually(t, stream+" has a leader", func() bool {
		info := streamInfo(cluster, stream)
		if info == nil || info.Cluster == nil {
			return false
		}
		leader = slices.IndexFunc(cluster, func(n *NATS) bool { return n.settings.Name == info.Cluster.Leader })
		return leader >= 0
	})
	return leader
}

// InSync reports whether all servers of the cluster have all of a stream.
func InSync(cluster []*NATS, stream string) bool {
	info := streamInfo(cluster, stream)
	if info == nil || info.Cluster == nil || len(info.Cluster.Replicas) != len(cluster)-1 {
		return false
	}
	return !slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline })
}
