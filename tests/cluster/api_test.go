package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An api asks the API server, as an administrator.
type api struct {
	t      *testing.T
	client *http.Client
}

const (
	apiServer = "https://127.0.0.1:6443"
	admin     = "the-token-of-the-administrator"
)

func newAPI(t *testing.T, authorities []byte) *api {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	return &api{t: t, client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}}
}

// do sends a request and reads the answer into out. An answer of 400 or more is an error, beside its status.
func (a *api) do(method, path string, body, out any) (int, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, apiServer+path, content)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+admin)
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		kind := "merge-patch"
		if strings.HasSuffix(path, "/status") {
			kind = "strategic-merge-patch" // keeps conditions that others have set
		}
		request.Header.Set("Content-Type", "application/"+kind+"+json")
	}
	response, err := a.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s %s", method, path, response.Status, text)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	return response.StatusCode, err
}

// must does what has to succeed.
func (a *api) must(method, path string, body, out any) {
	a.t.Helper()
	if _, err := a.do(method, path, body, out); err != nil {
		a.t.Fatal(err)
	}
}

// object is what manifests and the API have, as far as a test makes it.
type object = map[string]any

type metadata struct {
	Name, Namespace, UID       string
	Labels                     map[string]string
	DeletionTimestamp          *time.Time
	DeletionGracePeriodSeconds int
}

type condition struct{ Type, Status, Reason, Message string }

// is reports whether one of the conditions is true, or else what they are.
func is(conditions []condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind && c.Status == "True" {
			return ""
		}
	}
	return fmt.Sprintf("%s is not among %+v", kind, conditions)
}

// A pod is one as the API server has it, without what the test does not play.
type pod struct {
	Metadata metadata
	Spec     struct {
		NodeName   string
		Containers []struct {
			Name  string
			Image string
			Args  []string
			Env   []variable
			Ports []struct {
				Name          string
				ContainerPort int
			}
			StartupProbe, ReadinessProbe, LivenessProbe *probe
			Lifecycle                                   struct {
				PreStop struct{ Sleep struct{ Seconds int } }
			}
			VolumeMounts []struct{ Name, MountPath string }
		}
		Volumes []volume
	}
	Status struct {
		Conditions []condition
		PodIP      string
	}
}

type volume struct {
	Name                  string
	ConfigMap             struct{ Name string }
	Secret                struct{ SecretName string }
	PersistentVolumeClaim struct{ ClaimName string }
}

type variable struct {
	Name, Value string
	ValueFrom   struct {
		SecretKeyRef struct{ Name, Key string }
		FieldRef     struct{ FieldPath string }
	}
}

type probe struct {
	HTTPGet struct {
		Path string
		Port any
	}
	PeriodSeconds, TimeoutSeconds, FailureThreshold int
}

// pods are those of a namespace, or of all.
func (a *api) pods(namespace string) (list []pod, err error) {
	path := "/api/v1/pods"
	if namespace != "" {
		path = "/api/v1/namespaces/" + namespace + "/pods"
	}
	var response struct{ Items []pod }
	_, err = a.do(http.MethodGet, path, nil, &response)
	return response.Items, err
}
