package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/runtime/trace"
	"pinion/tests/assert"
)

func env(pairs ...string) func(string) string {
	values := map[string]string{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// TestRead_WrongValuesAreIgnored: the warning has the variable, its value and what is allowed. Only cog.yaml's are
// errors.
func TestRead_WrongValuesAreIgnored(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
	yes := true
	for _, c := range []struct {
		set  string
		yaml Traces
		want string
	}{
		{set: "OTEL_TRACES_EXPORTER=zipkin", want: `OTEL_TRACES_EXPORTER: "zipkin" is ignored: must be otlp or none`},
		{
			set:  "OTEL_METRICS_EXPORTER=prometheus",
			want: `OTEL_METRICS_EXPORTER: "prometheus" is ignored: must be otlp or none`,
		},
		{set: "OTEL_LOGS_EXPORTER=console", want: `OTEL_LOGS_EXPORTER: "console" is ignored: must be otlp or none`},
		{
			set:  "OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
			want: `OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" is ignored: must be http/protobuf, grpc or http`,
		},
		{set: "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=x", want: `OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "x" is ignored: must be`},
		{
			set:  "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318",
			want: `OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" is ignored: must be an http or https URL`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_ENDPOINT=ftp://u:secret@h",
			want: `OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://…@h" is ignored: must be an http or https URL`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_ENDPOINT=http://u:secret@h:99x",
			want: `OTEL_EXPORTER_OTLP_ENDPOINT: "http://…@h:99x" is ignored: must be an http or https URL`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_ENDPOINT=u:secret@h:4318",
			want: `OTEL_EXPORTER_OTLP_ENDPOINT: "…@h:4318" is ignored: must be an http or https URL`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_HEADERS=secret",
			want: `OTEL_EXPORTER_OTLP_HEADERS: "…" is ignored: must be a list such as`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_TIMEOUT=1s",
			want: `OTEL_EXPORTER_OTLP_TIMEOUT: "1s" is ignored: must be a whole number of milliseconds`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_COMPRESSION=zstd",
			want: `OTEL_EXPORTER_OTLP_COMPRESSION: "zstd" is ignored: must be gzip or none`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such",
			want: `OTEL_EXPORTER_OTLP_CERTIFICATE: "/no/such" is ignored: must be a readable file`,
		},
		{
			set:  "OTEL_TRACES_SAMPLER=jaeger_remote",
			want: `OTEL_TRACES_SAMPLER: "jaeger_remote" is ignored: must be always_on, always_off, traceidratio,`,
		},
		{set: "COG_TRACE_SAMPLER=some", want: `COG_TRACE_SAMPLER: "some" is ignored: must be always_on`},
		{set: "OTEL_TRACES_SAMPLER_ARG=1.5", want: `OTEL_TRACES_SAMPLER_ARG: "1.5" is ignored: must be a ratio from 0 to 1`},
		{set: "COG_TRACE_SAMPLER_ARG=NaN", want: `COG_TRACE_SAMPLER_ARG: "NaN" is ignored: must be a ratio from 0 to 1`},
		{set: "COG_TRACE_HEADER_FORMAT=b3", want: `COG_TRACE_HEADER_FORMAT: "b3" is ignored: must be w3c or jaeger`},
		{set: "COG_TRACE_HEADER=a b", want: `COG_TRACE_HEADER: "a b" is ignored: must be the name of an HTTP header`},
		{set: "COG_TRACE_ENABLED=perhaps", want: `COG_TRACE_ENABLED: "perhaps" is ignored: must be true or false`},
		{set: "OTEL_SDK_DISABLED=2", want: `OTEL_SDK_DISABLED: "2" is ignored: must be true or false`},
		{
			set:  "OTEL_PROPAGATORS=tracecontext,baggage,xray, ottrace",
			want: `OTEL_PROPAGATORS: "xray,ottrace" is ignored: propagators here are tracecontext,`,
		},
		{
			set:  "OTEL_TRACES_SAMPLER=parentbased_jaeger_remote",
			want: `OTEL_TRACES_SAMPLER: "parentbased_jaeger_remote" is ignored: must be always_on`,
		},
		{
			set:  "OTEL_TRACES_SAMPLER_ARG=endpoint=http://localhost:14250,pollingIntervalMs=5000",
			want: `OTEL_TRACES_SAMPLER_ARG: "endpoint=http://localhost:14250,pollingIntervalMs=5000" is ignored: must be a ratio`,
		},
		{
			set:  "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/no/such",
			want: `OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: "/no/such" is ignored: must be a certificate`,
		},
		{
			set:  "OTEL_BSP_MAX_QUEUE_SIZE=0",
			want: `OTEL_BSP_MAX_QUEUE_SIZE: "0" is ignored: must be a whole number of at least 1`,
		},
		{
			set:  "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=20000",
			want: `OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 20000 is ignored: must be at most OTEL_BSP_MAX_QUEUE_SIZE, which is 16384`,
		},
		{set: "OTEL_METRIC_EXPORT_INTERVAL=-1", want: `OTEL_METRIC_EXPORT_INTERVAL: "-1" is ignored: must be`},
		{set: "OTEL_RESOURCE_ATTRIBUTES=a", want: `OTEL_RESOURCE_ATTRIBUTES: "a" is ignored: must be a list`},
		{
			yaml: Traces{Enabled: &yes, Sampler: "never"},
			want: `cog.yaml: observability.traces.sampler: "never": must be always_on`,
		},
		{yaml: Traces{SamplerArg: "2"}, want: `cog.yaml: observability.traces.sampler_arg: "2": must be a ratio`},
		{
			yaml: Traces{HeaderFormat: "b3"},
			want: `cog.yaml: observability.traces.trace_header_format: "b3": must be w3c or jaeger`,
		},
	} {
		for _, endpoint := range []string{endpoint, ""} {
			read, err := Read(env(endpoint, c.set), CogYAML{Traces: c.yaml})
			got := fmt.Sprint(err)
			if c.set != "" && err == nil {
				got = strings.Join(read.Warnings, "\n")
			}
			if (err == nil) != (c.set != "") || !strings.HasPrefix(got, c.want) || strings.Contains(got, "secret") ||
				strings.Contains(got, "\n") {
				t.Errorf("%s %+v: got %v, %s\nwant %s…", c.set, c.yaml, err, got, c.want)
			}
		}
	}
}

// TestRead_Switches: which settings ask for a signal, and which of them counts.
func TestRead_Switches(t *testing.T) {
	yes, no := true, false
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"
	for _, c := range []struct {
		name    string
		set     []string
		yaml    CogYAML
		on      string // the signals
		sampler string
		warns   bool
	}{
		{name: "nothing", sampler: parentOrOn},
		{name: "an endpoint", set: []string{endpoint}, on: "tml", sampler: parentOrOn},
		{
			name: "an endpoint of traces", set: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/x"}, on: "t",
			sampler: parentOrOn,
		},
		{name: "off altogether", set: []string{endpoint, "OTEL_SDK_DISABLED=true"}, sampler: parentOrOn},
		{
			name: "exporters", set: []string{endpoint, "OTEL_TRACES_EXPORTER=none", "OTEL_LOGS_EXPORTER=none"}, on: "m",
			sampler: parentOrOn,
		},
		{
			name: "exporters of a list",
			set:  []string{endpoint, "OTEL_TRACES_EXPORTER=otlp,console", "OTEL_METRICS_EXPORTER=prometheus"}, on: "tl",
			sampler: parentOrOn, warns: true,
		},
		{
			name: "an endpoint that is not a URL", set: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"},
			sampler: parentOrOn,
			warns:   true,
		},
		{name: "Cog's switch", set: []string{endpoint, "COG_TRACE_CONFIGURED=1"}, on: "tml", sampler: parentOrOff},
		{
			name: "Cog's switch without an endpoint", set: []string{"COG_TRACE_CONFIGURED=1"}, sampler: parentOrOff, warns: true,
		},
		{
			name: "Cog's refusals", set: []string{endpoint, "COG_TRACE_ENABLED=no", "COG_METRICS_ENABLED=0"}, on: "l",
			sampler: parentOrOn,
		},
		{
			name: "cog.yaml", set: []string{endpoint}, yaml: CogYAML{Traces: Traces{Enabled: &yes, Sampler: alwaysOn}},
			on: "tml", sampler: alwaysOn,
		},
		{
			name: "cog.yaml refuses", set: []string{endpoint},
			yaml: CogYAML{Traces: Traces{Enabled: &no}, Metrics: Metrics{Enabled: &no}}, on: "l", sampler: parentOrOn,
		},
		{
			name: "Cog's sampler over cog.yaml's", set: []string{endpoint, "COG_TRACE_SAMPLER=always_off"},
			yaml: CogYAML{Traces: Traces{Sampler: alwaysOn}}, on: "tml", sampler: alwaysOff,
		},
		{
			name: "OpenTelemetry's sampler over Cog's",
			set:  []string{endpoint, "COG_TRACE_SAMPLER=always_off", "OTEL_TRACES_SAMPLER=traceidratio"}, on: "tml",
			sampler: byRatio,
		},
	} {
		got, err := Read(env(c.set...), c.yaml)
		if err != nil {
			t.Errorf("%s: got %v, want no error", c.name, err)
			continue
		}
		for letter, x := range map[string]*Exporter{"t": got.Traces, "m": got.Metrics, "l": got.Logs} {
			assert.True(t, (x != nil) == strings.Contains(c.on, letter),
				"%s: %s is %v, want %t", c.name, letter, x, strings.Contains(c.on, letter))
		}
		assert.Equal(t, c.name+": got.Sampler", got.Sampler, c.sampler)
		assert.Equal(t, c.name+": len(got.Warnings) > 0", len(got.Warnings) > 0, c.warns)
	}
}

// TestRead_Endpoints: the paths of the signals.
func TestRead_Endpoints(t *testing.T) {
	for _, c := range []struct{ set, other, url string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "", "http://c:4318/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/base/?k=v", "", "http://c:4318/base/v1/traces?k=v"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c/v1/traces", "", "http://c/v1/traces"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/other", "", "http://c/other"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "http://c:4317"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "https://c:4317"},
	} {
		got, err := Read(env(c.set, c.other), CogYAML{})
		assert.True(t, err == nil && got.Traces != nil && got.Traces.URL == c.url,
			"%s %s: %+v, %v; want %s", c.set, c.other, got, err, c.url)
	}
}

// TestRead_Propagators: those that a platform sets for all its programs.
func TestRead_Propagators(t *testing.T) {
	for value, want := range map[string][]trace.Form{
		"": {trace.W3C}, "none": nil, "baggage": nil, "tracecontext,baggage,b3": {trace.W3C, trace.B3},
		"b3multi,jaeger": {trace.B3Multi, trace.Jaeger},
		"xray":           nil, "b3, b3,tracecontext": {trace.B3, trace.W3C},
	} {
		got, err := Read(env("OTEL_PROPAGATORS="+value), CogYAML{})
		assert.True(t, err == nil && slices.Equal(got.Propagators, want), "%q: got %v, %v, want %v", value, got.Propagators, err, want)
	}
}
