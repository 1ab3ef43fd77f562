package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is a measurement for people and programs.
type Report struct {
	Target string // what was asked
	Input  []byte // of each prediction
	Asked  Options
	Got    *Result
}

// quantiles are those in the report.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}

// inModel returns the part of the time that the model had, of 1.
func (r *Report) inModel() float64 {
	if r.Got.Times.Sum() == 0 {
		return 0
	}
	return min(1, float64(r.Got.Predicted)/float64(r.Got.Times.Sum()))
}

func (r *Report) Write(w io.Writer) error {
	var text bytes.Buffer
	loop := "each asks when it was answered"
	if r.Asked.Rate > 0 {
		loop = fmt.Sprintf("%g requests a second by the clock", r.Asked.Rate)
	}
	fmt.Fprintf(&text, "%s, %d connections, %s, %s\n", r.Target, r.Asked.Connections, loop,
		r.Got.Length.Round(time.Millisecond))
	fmt.Fprintf(&text, "input %s\n\n", shorten(string(r.Input), 100))
	row := func(name, value, more string) {
		fmt.Fprintln(&text, strings.TrimRight(fmt.Sprintf("%-10s %12s  %s", name, value, more), " "))
	}
	row("succeeded", fmt.Sprint(r.Got.Times.Count()), fmt.Sprintf("%.1f a second", r.Got.Rate()))
	for _, q := range quantiles {
		row(q.name, milliseconds(r.Got.Times.Quantile(q.q)), "")
	}
	row("max", milliseconds(r.Got.Times.Max()), "")
	row("model", fmt.Sprintf("%.1f %%", 100*r.inModel()),
		fmt.Sprintf("of the time; server, queue and network the other %.1f %%", 100-100*r.inModel()))
	if r.Got.Late > 0 {
		row("late", fmt.Sprint(r.Got.Late), "were due while every connection waited for an answer; that counts as their time")
	}
	row("failed", fmt.Sprint(r.Got.Failed()), "")
	for _, failure := range slices.Sorted(maps.Keys(r.Got.Failures)) {
		row("", fmt.Sprint(r.Got.Failures[failure]), failure+hintOf(failure))
	}
	_, err := w.Write(text.Bytes())
	return err
}

// hintOf says what to do about a failure.
func hintOf(failure string) string {
	switch failure {
	case "HTTP status 409", "HTTP status 429":
		return ": it takes no more at once; pinion serve --queue lets them wait"
	}
	return ""
}

func (r *Report) Draw(w io.Writer) {
	const rows, width = 12, 50
	bars := r.Got.Times.Bars(rows)
	var most uint64 = 1
	for _, bar := range bars {
		most = max(most, bar.Count)
	}
	fmt.Fprintln(w)
	for _, bar := range bars {
		length := int((bar.Count*width + most - 1) / most)
		fmt.Fprintf(w, "to %12s  %-*s %d\n", milliseconds(bar.Until), width, strings.Repeat("█", length), bar.Count)
	}
}

// Figures returns the report for programs; times are in seconds.
func (r *Report) Figures() map[string]any {
	latency := map[string]float64{"max": r.Got.Times.Max().Seconds()}
	for _, q := range quantiles {
		latency[q.name] = r.Got.Times.Quantile(q.q).Seconds()
	}
	return map[string]any{
		"target": r.Target, "input": json.RawMessage(r.Input), "connections": r.Asked.Connections, "asked_rate": r.Asked.Rate,
		"seconds": r.Got.Length.Seconds(), "succeeded": r.Got.Times.Count(), "rate": r.Got.Rate(), "latency": latency,
		"model_share": r.inModel(), "late": r.Got.Late, "failed": r.Got.Failed(), "failures": r.Got.Failures,
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/1e6) }

func shorten(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
