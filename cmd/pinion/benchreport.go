package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"pinion/cmd/pinion/internal/load"
	"pinion/cmd/pinion/internal/terminal"
)

// report is the result of 'pinion bench'.
type report struct {
	target string
	input  []byte
	asked  load.Options
	got    *load.Result
}

// report prints the report. No success at all is a failure.
func (b *benching) report(r report) error {
	if b.output != "-" {
		r.write(os.Stdout)
		if terminal.IsTerminal(os.Stdout) {
			r.draw(os.Stdout)
		}
	}
	if b.output != "" {
		figures, err := json.MarshalIndent(r.figures(), "", "  ")
		if err != nil {
			return err
		}
		figures = append(figures, '\n')
		if b.output == "-" {
			_, err = os.Stdout.Write(figures)
		} else {
			err = os.WriteFile(b.output, figures, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if r.got.Times.Count() == 0 {
		return fmt.Errorf("no prediction succeeded in %s", r.got.Length)
	}
	return nil
}

// quantiles are those in the report.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}

// inModel is the part of the time that the model had, of 1.
func (r *report) inModel() float64 {
	if r.got.Times.Sum() == 0 {
		return 0
	}
	return min(1, float64(r.got.Predicted)/float64(r.got.Times.Sum()))
}

func (r *report) write(w io.Writer) {
	loop := "each asks when it was answered"
	if r.asked.Rate > 0 {
		loop = fmt.Sprintf("%g requests a second by the clock", r.asked.Rate)
	}
	fmt.Fprintf(w, "%s, %d connections, %s, %s\n", r.target, r.asked.Connections, loop, r.got.Length.Round(time.Millisecond))
	fmt.Fprintf(w, "input %s\n\n", shorten(string(r.input), 100))
	row := func(name, value, more string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s %12s  %s", name, value, more), " "))
	}
	row("succeeded", fmt.Sprint(r.got.Times.Count()), fmt.Sprintf("%.1f a second", r.got.Rate()))
	for _, q := range quantiles {
		row(q.name, milliseconds(r.got.Times.Quantile(q.q)), "")
	}
	row("max", milliseconds(r.got.Times.Max()), "")
	row("model", fmt.Sprintf("%.1f %%", 100*r.inModel()), fmt.Sprintf("of the time; server, queue and network the other %.1f %%", 100-100*r.inModel()))
	if r.got.Late > 0 {
		row("late", fmt.Sprint(r.got.Late), "were due while every connection waited for an answer; that counts as their time")
	}
	row("failed", fmt.Sprint(r.got.Failed()), "")
	for _, failure := range slices.Sorted(maps.Keys(r.got.Failures)) {
		row("", fmt.Sprint(r.got.Failures[failure]), failure+hintOf(failure))
	}
}

// hintOf says what to do about a failure.
func hintOf(failure string) string {
	switch failure {
	case "HTTP status 409", "HTTP status 429":
		return ": it takes no more at once; pinion serve --queue lets them wait"
	}
	return ""
}

// draw draws how the times lie.
func (r *report) draw(w io.Writer) {
	const rows, width = 12, 50
	bars := r.got.Times.Bars(rows)
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

// figures is the report for programs; times are in seconds.
func (r *report) figures() map[string]any {
	latency := map[string]float64{"max": r.got.Times.Max().Seconds()}
	for _, q := range quantiles {
		latency[q.name] = r.got.Times.Quantile(q.q).Seconds()
	}
	return map[string]any{
		"target": r.target, "input": json.RawMessage(r.input), "connections": r.asked.Connections, "asked_rate": r.asked.Rate,
		"seconds": r.got.Length.Seconds(), "succeeded": r.got.Times.Count(), "rate": r.got.Rate(), "latency": latency,
		"model_share": r.inModel(), "late": r.got.Late, "failed": r.got.Failed(), "failures": r.got.Failures,
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/1e6) }

func shorten(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
