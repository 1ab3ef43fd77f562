package telemetry

import (
	"errors"
	"net/http"
	"strings"
)

func (x *Exporter) httpClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = x.TLS
	return &http.Client{Transport: noPages{transport}, Timeout: x.Timeout}
}

var errPage = errors.New("the answer is a web page: the endpoint is not a collector")

// noPages fails requests that are answered with a web page, as by a proxy or another server: the exporters of the SDK
// would take one with the status 200 for success, and what was sent would be lost uncounted.
type noPages struct{ http.RoundTripper }

func (t noPages) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusOK &&
		strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
		answer.Body.Close()
		return nil, errPage
	}
	return answer, err
}
