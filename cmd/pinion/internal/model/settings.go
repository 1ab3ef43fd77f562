package model

import (
	"strings"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/telemetry"
)

// settings is what a server honours of cog.yaml; keys that concern building an image are ignored.
type settings struct {
	description, image, logo, run, predict, train string
	environment                                   []string
	concurrency, ranks                            int // 0 means not said
	noneDefaults                                  string
	observability                                 telemetry.CogYAML
}

// settings returns the settings of the file, as far as it can be read.
func (c *CogYAMLReport) settings() settings {
	text := func(key string) string { return textOf(c.root.Get(key)).Value }
	s := settings{
		description: text("description"), image: text("image"), logo: text("logo"),
		run: text("run"), predict: text("predict"), train: text("train"),
		noneDefaults:  text("none_defaults"),
		observability: observabilityOf(c.root.Get("observability")),
	}
	for _, entry := range environmentOf(c.root) {
		s.environment = append(s.environment, entry.Value)
	}
	if slots := c.root.Get("concurrency").Get("max"); slots != nil && slots.Number >= 1 &&
		slots.Number <= maxConcurrency {
		s.concurrency = int(slots.Number)
	}
	if n := c.root.Get("ranks"); n != nil && n.Number >= 1 && n.Number <= maxRanks {
		s.ranks = int(n.Number)
	}
	return s
}

// environmentOf returns the variables of the file, with the spaces of their values.
func environmentOf(root *usertext.Node) (list []Text) {
	n := root.Get("environment")
	if n == nil {
		return nil
	}
	for _, item := range n.Items {
		if textOf(item).Value != "" {
			list = append(list, Text{strings.TrimRight(item.Text, "\r\n"), item.Line})
		}
	}
	return list
}

// observabilityOf reads the key observability. traces and metrics are mappings, or only say whether they are on.
func observabilityOf(n *usertext.Node) telemetry.CogYAML {
	traces, metrics := n.Get("traces"), n.Get("metrics")
	text := func(key string) string { return textOf(traces.Get(key)).Value }
	return telemetry.CogYAML{
		Config: textOf(n.Get("config")).Value,
		Traces: telemetry.Traces{
			Enabled: enabled(traces), Sampler: text("sampler"), SamplerArg: text("sampler_arg"),
			Header: text("trace_header"), HeaderFormat: text("trace_header_format"),
		},
		Metrics: telemetry.Metrics{Enabled: enabled(metrics)},
	}
}

// enabled returns a switch; nil means it is not there.
func enabled(n *usertext.Node) *bool {
	if n != nil && n.Kind == usertext.Mapping {
		n = n.Get("enabled")
	}
	if n == nil || n.Kind == usertext.Null {
		return nil
	}
	on := isTrue(n)
	return &on
}
