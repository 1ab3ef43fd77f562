package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/grpc/credentials"
)

// retries returns the RetryConfig of each exporter. What comes until MaxElapsedTime after the first attempt waits in
// the queue.
func retries() otlptracehttp.RetryConfig {
	return otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: 30 * time.Second,
	}
}

// grpcOptions returns the settings of an exporter over gRPC, built with the functions of its package.
func grpcOptions[O any](
	x *Exporter, retry O, url func(string) O, headers func(map[string]string) O, timeout func(time.Duration) O,
	compressor func(string) O, certificates func(credentials.TransportCredentials) O,
) []O {
	o := []O{retry, url(x.URL), headers(x.Headers), timeout(x.Timeout)}
	if x.Gzip {
		o = append(o, compressor("gzip"))
	}
	if !x.Insecure && x.TLS != nil {
		o = append(o, certificates(credentials.NewTLS(x.TLS)))
	}
	return o
}

// httpOptions returns the settings of an exporter over HTTP.
func httpOptions[O any](
	x *Exporter, client *http.Client, retry, gzip O, url func(string) O, headers func(map[string]string) O,
	timeout func(time.Duration) O,
	withClient func(*http.Client) O,
) []O {
	o := []O{retry, url(x.URL), headers(x.Headers), timeout(x.Timeout), withClient(client)}
	if x.Gzip {
		o = append(o, gzip)
	}
	return o
}

func newSpanClient(x *Exporter) otlptrace.Client {
	if x.GRPC {
		return otlptracegrpc.NewClient(
			grpcOptions(x, otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(retries())), otlptracegrpc.WithEndpointURL,
				otlptracegrpc.WithHeaders, otlptracegrpc.WithTimeout, otlptracegrpc.WithCompressor,
				otlptracegrpc.WithTLSCredentials)...)
	}
	client := x.httpClient()
	if x.posts() {
		client.Transport = poster{client.Transport}
	}
	return otlptracehttp.NewClient(
		httpOptions(x, client, otlptracehttp.WithRetry(retries()),
			otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
			otlptracehttp.WithEndpointURL, otlptracehttp.WithHeaders, otlptracehttp.WithTimeout,
			otlptracehttp.WithHTTPClient)...)
}

// posts reports whether the client of traces sends the bodies of posts: it compresses none.
func (x *Exporter) posts() bool { return !x.GRPC && !x.Gzip }

func newMetricExporter(ctx context.Context, x *Exporter) (_ sdkmetric.Exporter, err error) {
	defer explain(&err, signalMetrics)
	if x.GRPC {
		return otlpmetricgrpc.New(ctx,
			grpcOptions(x, otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig(retries())), otlpmetricgrpc.WithEndpointURL,
				otlpmetricgrpc.WithHeaders, otlpmetricgrpc.WithTimeout, otlpmetricgrpc.WithCompressor,
				otlpmetricgrpc.WithTLSCredentials)...)
	}
	return otlpmetrichttp.New(ctx,
		httpOptions(x, x.httpClient(), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(retries())),
			otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression), otlpmetrichttp.WithEndpointURL,
			otlpmetrichttp.WithHeaders,
			otlpmetrichttp.WithTimeout, otlpmetrichttp.WithHTTPClient)...)
}

func newLogExporter(ctx context.Context, x *Exporter) (_ sdklog.Exporter, err error) {
	defer explain(&err, signalLogs)
	if x.GRPC {
		return otlploggrpc.New(ctx, grpcOptions(x, otlploggrpc.WithRetry(otlploggrpc.RetryConfig(retries())),
			otlploggrpc.WithEndpointURL,
			otlploggrpc.WithHeaders, otlploggrpc.WithTimeout, otlploggrpc.WithCompressor, otlploggrpc.WithTLSCredentials)...)
	}
	return otlploghttp.New(ctx, httpOptions(x, x.httpClient(), otlploghttp.WithRetry(otlploghttp.RetryConfig(retries())),
		otlploghttp.WithCompression(otlploghttp.GzipCompression), otlploghttp.WithEndpointURL, otlploghttp.WithHeaders,
		otlploghttp.WithTimeout, otlploghttp.WithHTTPClient)...)
}

func explain(err *error, signal string) {
	if *err != nil {
		*err = fmt.Errorf("make the exporter of %s: %w", signal, *err)
	}
}
