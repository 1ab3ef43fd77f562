package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/trace"
)

// CogYAML is what cog.yaml says under observability.
type CogYAML struct {
	Traces  Traces
	Metrics Metrics
	// Config is the file of the hooks, below the model's folder, or "" for none.
	Config string
}

// Traces is observability.traces. Enabled is nil where cog.yaml does not say it.
type Traces struct {
	Enabled                                   *bool
	Sampler, SamplerArg, Header, HeaderFormat string
}

// The keys of cog.yaml, read like variables, which all others override. Messages show these names.
const (
	yamlSampler      = "cog.yaml: observability.traces.sampler"
	yamlSamplerArg   = "cog.yaml: observability.traces.sampler_arg"
	yamlHeader       = "cog.yaml: observability.traces.trace_header"
	yamlHeaderFormat = "cog.yaml: observability.traces.trace_header_format"
)

// beneath returns a getenv that also knows these keys of cog.yaml.
func (t *Traces) beneath(getenv func(string) string) func(string) string {
	keys := map[string]string{
		yamlSampler: t.Sampler, yamlSamplerArg: t.SamplerArg, yamlHeader: t.Header,
		yamlHeaderFormat: t.HeaderFormat,
	}
	return func(name string) string {
		if value, is := keys[name]; is {
			return value
		}
		return getenv(name)
	}
}

type Metrics struct{ Enabled *bool }

// The samplers, by OpenTelemetry's names.
const (
	alwaysOn      = "always_on"
	alwaysOff     = "always_off"
	byRatio       = "traceidratio"
	parentOrOn    = "parentbased_always_on"
	parentOrOff   = "parentbased_always_off"
	parentOrRatio = "parentbased_traceidratio"
	headerW3C     = "w3c"
	headerJaeger  = "jaeger"
	exporterOTLP  = "otlp"
	exporterNone  = "none"
)

func samplers() []string {
	return []string{alwaysOn, alwaysOff, byRatio, parentOrOn, parentOrOff, parentOrRatio}
}

// Config is which signals are sent, where to, and how. The zero value sends nothing.
type Config struct {
	// Traces, Metrics and Logs say where a signal goes; nil means it is not sent.
	Traces, Metrics, Logs *Exporter

	Sampler string
	Ratio   float64 // of the samplers by ratio
	// Propagators are the headers of requests that are read, and by which contexts are passed on; if there are none,
	// neither is done.
	Propagators []trace.Form
	// Header is another header that carries the context, or "" for none. Jaeger means that it has Jaeger's form instead
	// of W3C's.
	Header string
	Jaeger bool
	// Files means that uploads and downloads carry the context too.
	Files bool

	Service  string            // service.name
	Resource map[string]string // further attributes

	SpanBatch, LogBatch         Batch
	MetricInterval, MetricLimit time.Duration

	// Warnings are for the log: settings that do nothing, and variables whose values are not understood.
	Warnings []string
}

// Batch is how spans or log records wait to be sent.
type Batch struct {
	Delay, Timeout time.Duration // 0 means OpenTelemetry's default
	Queue, Size    int           // how many wait at most, and go in one export
}

// How many wait and go in one export. Those for log records are OpenTelemetry's defaults. A prediction has seven spans:
// with its defaults for spans, 2048 and 512, some were lost at 20 000 predictions a second, and the exports themselves
// took more time.
var (
	defaultSpans   = Batch{Queue: 16384, Size: 2048}
	defaultRecords = Batch{Queue: 2048, Size: 512}
)

func (c *Config) On() bool { return c.Traces != nil || c.Metrics != nil || c.Logs != nil }

// Read reads the settings. Variables override cog.yaml, OpenTelemetry's variables override Cog's. These variables may
// be set for all programs of a platform, so a value that is not understood is ignored with a warning, as
// OpenTelemetry's specification has it. The error is for cog.yaml and for our own variables.
func Read(getenv func(string) string, y CogYAML) (*Config, error) {
	e, c := &environment{get: y.Traces.beneath(getenv)}, &Config{}
	c.readTraces(e, y.Traces)
	c.readMetrics(e, y.Metrics)
	c.Logs = e.exporter(signalLogs, false)
	c.Files = e.is("PINION_TRACE_FILES", true)
	c.readResource(e)
	c.SpanBatch = e.batch("OTEL_BSP_", defaultSpans)
	c.LogBatch = e.batch("OTEL_BLRP_", defaultRecords)
	off := e.is("OTEL_SDK_DISABLED", true)
	c.Warnings = append(e.warnings, c.Warnings...)
	if off {
		c.Traces, c.Metrics, c.Logs, c.Warnings = nil, nil, nil, nil
	}
	if e.err != nil {
		return nil, e.err
	}
	return c, nil
}

// Hooks returns the file with a model's own providers, below its folder, or "" for none.
func Hooks(getenv func(string) string, y CogYAML) string {
	_, file := (&environment{get: getenv}).first("COG_OBSERVABILITY_CONFIG")
	return cmp.Or(file, y.Config)
}

func (c *Config) readTraces(e *environment, y Traces) {
	asked := e.is("COG_TRACE_CONFIGURED", true) || y.Enabled != nil && *y.Enabled
	refused := e.is("COG_TRACE_ENABLED", false) || y.Enabled != nil && !*y.Enabled
	c.Traces = e.exporter(signalTraces, refused)
	otherwise := parentOrOn
	if asked {
		otherwise = parentOrOff // Cog's default
	}
	c.Sampler = e.choice(otherwise, samplers(), "OTEL_TRACES_SAMPLER", "COG_TRACE_SAMPLER", yamlSampler)
	c.Ratio = 1
	if name, value := e.first("OTEL_TRACES_SAMPLER_ARG", "COG_TRACE_SAMPLER_ARG", yamlSamplerArg); name != "" {
		ratio, err := strconv.ParseFloat(value, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			e.fail(name, value, "a ratio from 0 to 1")
			ratio = 1
		}
		c.Ratio = ratio
	}
	name, value := e.first("COG_TRACE_HEADER", yamlHeader)
	if strings.ContainsFunc(value, notInHeaderName) {
		e.fail(name, value, "the name of an HTTP header, such as X-Trace")
		value = ""
	}
	c.Header = value
	c.Jaeger = e.choice(headerW3C, []string{headerW3C, headerJaeger}, "COG_TRACE_HEADER_FORMAT",
		yamlHeaderFormat) == headerJaeger
	c.readPropagators(e)
	if asked && !refused && c.Traces == nil && e.exporterName(signalTraces) != exporterNone {
		c.Warnings = append(c.Warnings,
			"traces are enabled but not sent: set OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector")
	}
}

func (c *Config) readPropagators(e *environment) {
	forms := map[string]trace.Form{
		"tracecontext": trace.W3C, "b3": trace.B3, "b3multi": trace.B3Multi,
		"jaeger": trace.Jaeger,
	}
	const name = "OTEL_PROPAGATORS"
	_, value := e.first(name)
	if value == "" {
		value = "tracecontext"
	}
	var unknown []string
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		form, is := forms[word]
		switch {
		case is && !slices.Contains(c.Propagators, form):
			c.Propagators = append(c.Propagators, form)
		case !is && !slices.Contains([]string{"", "none", "baggage"}, word):
			unknown = append(unknown, word)
		}
	}
	if len(unknown) > 0 {
		e.warn("%s: %q is ignored: propagators here are tracecontext, baggage, b3, b3multi and jaeger", name,
			strings.Join(unknown, ","))
	}
}

func (c *Config) readMetrics(e *environment, y Metrics) {
	asked := e.is("COG_METRICS_CONFIGURED", true) || y.Enabled != nil && *y.Enabled
	refused := e.is("COG_METRICS_ENABLED", false) || y.Enabled != nil && !*y.Enabled
	c.Metrics = e.exporter(signalMetrics, refused)
	c.MetricInterval = e.milliseconds("OTEL_METRIC_EXPORT_INTERVAL")
	c.MetricLimit = e.milliseconds("OTEL_METRIC_EXPORT_TIMEOUT")
	if asked && !refused && c.Metrics == nil && e.exporterName(signalMetrics) != exporterNone {
		c.Warnings = append(c.Warnings,
			"metrics are enabled but not sent: set OTEL_EXPORTER_OTLP_ENDPOINT to the address of a collector")
	}
}

func (c *Config) readResource(e *environment) {
	c.Resource = e.pairs(false, "OTEL_RESOURCE_ATTRIBUTES")
	_, name := e.first("OTEL_SERVICE_NAME")
	c.Service = cmp.Or(name, c.Resource["service.name"], "cog")
	delete(c.Resource, "service.name")
}

// batch reads the variables that begin with a prefix.
func (e *environment) batch(prefix string, otherwise Batch) Batch {
	b := Batch{
		Delay: e.milliseconds(prefix + "SCHEDULE_DELAY"), Timeout: e.milliseconds(prefix + "EXPORT_TIMEOUT"),
		Queue: e.count("a whole number of at least 1", prefix+"MAX_QUEUE_SIZE"),
		Size:  e.count("a whole number of at least 1", prefix+"MAX_EXPORT_BATCH_SIZE"),
	}
	if queue, size := cmp.Or(b.Queue, otherwise.Queue), b.Size; size > queue {
		e.warn("%sMAX_EXPORT_BATCH_SIZE: %d is ignored: must be at most %sMAX_QUEUE_SIZE, which is %d", prefix, size, prefix,
			queue)
	}
	b.Queue = cmp.Or(b.Queue, otherwise.Queue)
	b.Size = min(cmp.Or(b.Size, otherwise.Size), b.Queue)
	return b
}

func notInHeaderName(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}
