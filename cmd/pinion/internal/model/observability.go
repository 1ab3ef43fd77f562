package model

import (
	"cmp"
	"fmt"

	"pinion/runtime/telemetry"
)

// observability is that key of cog.yaml. traces and metrics are true, false or a mapping.
type observability struct {
	Traces  toggle[traces]  `yaml:"traces"`
	Metrics toggle[metrics] `yaml:"metrics"`
	Config  string          `yaml:"config"`
}

type traces struct {
	Enabled           *boolean `yaml:"enabled"`
	Sampler           string   `yaml:"sampler"`
	SamplerArg        any      `yaml:"sampler_arg"` // a text or a number
	TraceHeader       string   `yaml:"trace_header"`
	TraceHeaderFormat string   `yaml:"trace_header_format"`
}

type metrics struct {
	Enabled *boolean `yaml:"enabled"`
}

// toggle is a mapping, or only whether it is on.
type toggle[T any] struct {
	on *boolean
	T  T
}

func (t *toggle[T]) UnmarshalYAML(unmarshal func(any) error) error {
	var on boolean
	if unmarshal(&on) == nil {
		t.on = &on
		return nil
	}
	return unmarshal(&t.T)
}

// boolean is a boolean of either version of YAML.
type boolean bool

func (b *boolean) UnmarshalYAML(unmarshal func(any) error) error {
	var word string
	if err := unmarshal((*bool)(b)); err == nil || unmarshal(&word) != nil || !isOldBool(word) {
		return err
	}
	*b = boolean(isOldTrue(word))
	return nil
}

func (o *observability) settings() telemetry.CogYAML {
	t := &o.Traces.T
	y := telemetry.CogYAML{Config: o.Config, Traces: telemetry.Traces{
		Enabled: (*bool)(cmp.Or(t.Enabled, o.Traces.on)), Sampler: t.Sampler, Header: t.TraceHeader, HeaderFormat: t.TraceHeaderFormat,
	}}
	if t.SamplerArg != nil {
		y.Traces.SamplerArg = fmt.Sprint(t.SamplerArg)
	}
	y.Metrics.Enabled = (*bool)(cmp.Or(o.Metrics.T.Enabled, o.Metrics.on))
	return y
}
