package telemetry

import (
	"context"
	"fmt"
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

// The exporters try again until this long after the first attempt; what comes meanwhile waits in the queue.
const (
	firstRetry = time.Second
	lastRetry  = 10 * time.Second
	retryLimit = 30 * time.Second
)

// gzip is the name of the compression in gRPC.
const gzip = "gzip"

// options are the settings of one exporter, built with the functions of its package.
func options[O any](x *Exporter, url func(string) O, headers func(map[string]string) O, timeout func(time.Duration) O) []O {
	return []O{url(x.URL), headers(x.Headers), timeout(x.Timeout)}
}

func newSpanClient(x *Exporter) otlptrace.Client {
	if x.GRPC {
		o := append(options(x, otlptracegrpc.WithEndpointURL, otlptracegrpc.WithHeaders, otlptracegrpc.WithTimeout),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: retryLimit}))
		if x.Gzip {
			o = append(o, otlptracegrpc.WithCompressor(gzip))
		}
		if !x.Insecure && x.TLS != nil {
			o = append(o, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(x.TLS)))
		}
		return otlptracegrpc.NewClient(o...)
	}
	o := append(options(x, otlptracehttp.WithEndpointURL, otlptracehttp.WithHeaders, otlptracehttp.WithTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: retryLimit}))
	if x.Gzip {
		o = append(o, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	client := x.httpClient()
	if x.posts() {
		client.Transport = poster{client.Transport}
	}
	return otlptracehttp.NewClient(append(o, otlptracehttp.WithHTTPClient(client))...)
}

// posts reports whether the client of traces sends the bodies of posts: it compresses none.
func (x *Exporter) posts() bool { return !x.GRPC && !x.Gzip }

func newMetricExporter(ctx context.Context, x *Exporter) (_ sdkmetric.Exporter, err error) {
	defer explain(&err, signalMetrics)
	if x.GRPC {
		o := append(options(x, otlpmetricgrpc.WithEndpointURL, otlpmetricgrpc.WithHeaders, otlpmetricgrpc.WithTimeout),
			otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: retryLimit}))
		if x.Gzip {
			o = append(o, otlpmetricgrpc.WithCompressor(gzip))
		}
		if !x.Insecure && x.TLS != nil {
			o = append(o, otlpmetricgrpc.WithTLSCredentials(credentials.NewTLS(x.TLS)))
		}
		return otlpmetricgrpc.New(ctx, o...)
	}
	o := append(options(x, otlpmetrichttp.WithEndpointURL, otlpmetrichttp.WithHeaders, otlpmetrichttp.WithTimeout),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: retryLimit}))
	if x.Gzip {
		o = append(o, otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	}
	return otlpmetrichttp.New(ctx, append(o, otlpmetrichttp.WithHTTPClient(x.httpClient()))...)
}

func newLogExporter(ctx context.Context, x *Exporter) (_ sdklog.Exporter, err error) {
	defer explain(&err, signalLogs)
	if x.GRPC {
		o := append(options(x, otlploggrpc.WithEndpointURL, otlploggrpc.WithHeaders, otlploggrpc.WithTimeout),
			otlploggrpc.WithRetry(otlploggrpc.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: retryLimit}))
		if x.Gzip {
			o = append(o, otlploggrpc.WithCompressor(gzip))
		}
		if !x.Insecure && x.TLS != nil {
			o = append(o, otlploggrpc.WithTLSCredentials(credentials.NewTLS(x.TLS)))
		}
		return otlploggrpc.New(ctx, o...)
	}
	o := append(options(x, otlploghttp.WithEndpointURL, otlploghttp.WithHeaders, otlploghttp.WithTimeout),
		otlploghttp.WithRetry(otlploghttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: retryLimit}))
	if x.Gzip {
		o = append(o, otlploghttp.WithCompression(otlploghttp.GzipCompression))
	}
	return otlploghttp.New(ctx, append(o, otlploghttp.WithHTTPClient(x.httpClient()))...)
}

func explain(err *error, signal string) {
	if *err != nil {
		*err = fmt.Errorf("make the exporter of %s: %w", signal, *err)
	}
}
