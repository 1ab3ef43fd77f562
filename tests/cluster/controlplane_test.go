package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// Where the parts of KEDA listen.
const (
	operatorIP = "10.244.100.1"
	adapterIP  = "10.244.100.2"
)

// A controlPlane is Kubernetes without nodes.
type controlPlane struct {
	t   *testing.T
	api *api
	dir string
	env []string // of kubectl
}

// startControlPlane starts etcd, the API server, the controller manager and the scheduler. Each may do what Kubernetes'
// roles allow it.
func startControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	keepLogs(t)
	c := &controlPlane{t: t, dir: t.TempDir()}
	c.api = newAPI(t, c.certify())
	users := []string{
		admin + ",admin,1,system:masters", "t-manager,system:kube-controller-manager,2",
		"t-scheduler,system:kube-scheduler,3",
		"t-keda,system:serviceaccount:keda:keda-operator,4,\"system:serviceaccounts,system:serviceaccounts:keda\"",
	}
	c.write("tokens.csv", strings.Join(users, "\n"))
	bin := filepath.Dir(program(t, "kubectl")) + ":" + filepath.Dir(program(t, "helm"))
	c.env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig("admin", admin), "PATH="+bin+":"+os.Getenv("PATH"),
		"HOME="+c.dir)

	c.start("etcd", "--data-dir", filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync")
	cert, key := filepath.Join(c.dir, "tls.crt"), filepath.Join(c.dir, "tls.key")
	authority := filepath.Join(c.dir, "ca.crt")
	c.start("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=127.0.0.1", "--secure-port=6443",
		"--advertise-address=10.244.200.100",
		"--tls-cert-file="+cert, "--tls-private-key-file="+key, "--token-auth-file="+filepath.Join(c.dir, "tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.96.0.0/16", "--enable-aggregator-routing=true",
		"--requestheader-client-ca-file="+authority,
		"--requestheader-allowed-names=localhost", "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--proxy-client-cert-file="+cert,
		"--proxy-client-key-file="+key)
	eventually(t, "the API server is ready", func() string {
		if _, err := c.api.do(http.MethodGet, "/readyz", nil, nil); err != nil &&
			!strings.Contains(err.Error(), "invalid character") {
			return err.Error()
		}
		return ""
	})
	manager, scheduler := c.kubeconfig("manager", "t-manager"), c.kubeconfig("scheduler", "t-scheduler")
	// The nodes have no heartbeat. The autoscaler looks every 2 s in place of 15.
	c.start("kube-controller-manager", "--kubeconfig="+manager, "--authentication-kubeconfig="+manager,
		"--authorization-kubeconfig="+manager,
		"--service-account-private-key-file="+key, "--root-ca-file="+authority, "--use-service-account-credentials",
		"--leader-elect=false",
		"--cert-dir="+c.dir, "--node-monitor-grace-period=2h", "--horizontal-pod-autoscaler-sync-period=2s")
	c.start("kube-scheduler", "--kubeconfig="+scheduler, "--authentication-kubeconfig="+scheduler,
		"--authorization-kubeconfig="+scheduler,
		"--leader-elect=false", "--cert-dir="+c.dir)
	return c
}

// start runs a part, which is to run until the test ends.
func (c *controlPlane) start(name string, args ...string) {
	c.t.Helper()
	c.startWith(name, nil, args...)
}

func (c *controlPlane) startWith(name string, env []string, args ...string) {
	c.t.Helper()
	p, err := start(c.t, name, append(os.Environ(), env...), append([]string{program(c.t, name)}, args...)...)
	assert.NoError(c.t, err)
	c.t.Cleanup(func() {
		assert.False(c.t, p.ended(), "%s ended by itself", name)
		p.kill()
	})
}

func (c *controlPlane) write(name, text string) string {
	c.t.Helper()
	file := filepath.Join(c.dir, name)
	assert.NoError(c.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// kubeconfig is the file by which a user reaches the API server.
func (c *controlPlane) kubeconfig(user, token string) string {
	c.t.Helper()
	return c.write(user+".kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority":%q}}],"users":[{"name":"u","user":{"token":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, apiServer, filepath.Join(c.dir, "ca.crt"), token))
}

// certify makes an authority, and one certificate for all parts of the cluster.
func (c *controlPlane) certify() (authority []byte) {
	c.t.Helper()
	issue := func(request, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key := assert.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(c.t)
		if signer == nil {
			signer = key
		}
		request.NotBefore, request.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		der := assert.Must(x509.CreateCertificate(rand.Reader, request, parent, &key.PublicKey, signer))(c.t)
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	authority, signer := issue(ca, ca, nil)
	cert, key := issue(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost", "keda-operator.keda.svc.cluster.local", "keda-metrics-apiserver.keda.svc"},
	}, ca, signer)
	der := assert.Must(x509.MarshalECPrivateKey(key))(c.t)
	c.write("ca.crt", string(authority))
	c.write("tls.crt", string(cert))
	c.write("tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	return authority
}

// startKEDA defines the kinds of KEDA and the Prometheus Operator, and starts KEDA with the roles of its own manifests.
func (c *controlPlane) startKEDA() {
	c.t.Helper()
	keda, _, _ := strings.Cut(os.Getenv(envDefinitions), ":")
	keda += "/config/"
	c.definePrometheus()
	c.kubectl("kubectl create namespace keda")
	for _, what := range []string{
		"-k " + keda + "crd", "-k " + keda + "rbac", "-f " + keda + "service_account/service_account.yaml",
		"-f " + keda + "metrics-server/role.yaml", "-f " + keda + "metrics-server/role_binding.yaml",
		"-f " + keda + "metrics-server/api_service.yaml",
	} {
		c.kubectl("kubectl apply --server-side " + what)
	}
	authority := assert.Must(os.ReadFile(filepath.Join(c.dir, "ca.crt")))(c.t)
	c.service("keda-operator", operatorIP, 9666, 9666)
	c.service("keda-metrics-apiserver", adapterIP, 443, 6443)
	c.api.must(http.MethodPatch, externalMetrics, object{"spec": object{"caBundle": authority}}, nil)
	env := []string{
		"KUBECONFIG=" + c.kubeconfig("keda", "t-keda"), "POD_NAMESPACE=keda",
		"KEDA_CLUSTER_OBJECT_NAMESPACE=keda", "WATCH_NAMESPACE=",
	}
	c.startWith("keda-operator", env, "--cert-dir="+c.dir, "--metrics-bind-address="+operatorIP+":8080",
		"--health-probe-bind-address="+operatorIP+":8081",
		"--metrics-service-bind-address="+operatorIP+":9666", "--zap-encoder=console")
	kubeconfig := env[0][len("KUBECONFIG="):]
	c.startWith("keda-adapter", env, "--bind-address="+adapterIP, "--secure-port=6443", "--port=8082",
		"--client-ca-file="+filepath.Join(c.dir, "ca.crt"),
		"--tls-cert-file="+filepath.Join(c.dir, "tls.crt"), "--tls-private-key-file="+filepath.Join(c.dir, "tls.key"),
		"--cert-dir="+c.dir,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--lister-kubeconfig="+kubeconfig)
}

// definePrometheus defines the kinds of the Prometheus Operator.
func (c *controlPlane) definePrometheus() {
	c.t.Helper()
	_, prometheus, _ := strings.Cut(os.Getenv(envDefinitions), ":")
	for _, kind := range []string{"podmonitors", "prometheusrules"} {
		c.kubectl("kubectl apply --server-side -f " + prometheus + "/example/prometheus-operator-crd/monitoring.coreos.com_" +
			kind + ".yaml")
	}
}

const externalMetrics = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io"

// service makes one of KEDA's, which has no pods here.
func (c *controlPlane) service(name, ip string, port, target int) {
	c.t.Helper()
	c.api.must(http.MethodPost, "/api/v1/namespaces/keda/services", object{
		"metadata": object{"name": name},
		"spec":     object{"ports": []object{{"name": "p", "port": port, "targetPort": target}}},
	}, nil)
	c.api.must(http.MethodPost, "/apis/discovery.k8s.io/v1/namespaces/keda/endpointslices", object{
		"metadata":    object{"name": name, "labels": object{"kubernetes.io/service-name": name}},
		"addressType": "IPv4", "ports": []object{{"name": "p", "port": target}},
		"endpoints": []object{{"addresses": []string{ip}, "conditions": object{"ready": true}}},
	}, nil)
}

// kubectl runs commands of a user's that have to succeed.
func (c *controlPlane) kubectl(line string) string {
	c.t.Helper()
	out, err := command(c.t, c.env, line)
	assert.NoError(c.t, err, line, out)
	c.t.Logf("%s\n%s", line, out)
	return out
}
