package openai

import (
	"strconv"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// numberAttrs are the parameters that spans have as numbers, by the names of OpenTelemetry's semantic conventions for
// GenAI.
var numberAttrs = [...]struct {
	parameter, name string
	whole           bool
}{
	{"max_tokens", "gen_ai.request.max_tokens", true},
	{"max_completion_tokens", "gen_ai.request.max_tokens", true},
	{"n", "gen_ai.request.choice.count", true},
	{"seed", "gen_ai.request.seed", true},
	{"temperature", "gen_ai.request.temperature", false},
	{"top_p", "gen_ai.request.top_p", false},
	{"frequency_penalty", "gen_ai.request.frequency_penalty", false},
	{"presence_penalty", "gen_ai.request.presence_penalty", false},
}

// spanAttrs describes a request for the spans of its predictions. Whether the function takes a parameter makes no
// difference.
func (r *Request) spanAttrs(b *Body, model string) *predict.SpanAttrs {
	attrs := trace.Attrs{}.Text("gen_ai.operation.name", r.Endpoint.Operation()).Text("gen_ai.provider.name",
		"pinion").Text("gen_ai.request.model", model)
	given := map[string]bool{}
	for _, a := range numberAttrs {
		value := b.get(a.parameter, number)
		if _, known := parameterOf(r.Endpoint, a.parameter); !known || value == nil || given[a.name] {
			continue
		}
		given[a.name] = true
		if whole, err := strconv.ParseInt(string(value), 10, 64); a.whole && err == nil && (a.parameter != "n" || whole > 1) {
			attrs = attrs.Int(a.name, whole)
		} else if f, err := strconv.ParseFloat(string(value), 64); !a.whole && err == nil {
			attrs = attrs.Float(a.name, f)
		}
	}
	if r.writesText() {
		stops := stopTexts(b.get("stop", anything))
		if len(stops) == 0 {
			stops = clipped(r.Stop)
		}
		if len(stops) > 0 {
			attrs = attrs.Texts("gen_ai.request.stop_sequences", stops)
		}
	}
	if r.Endpoint == Embeddings {
		attrs = attrs.Texts("gen_ai.request.encoding_formats", []string{r.format})
	}
	return &predict.SpanAttrs{Begin: attrs, End: func(status predict.Status, output, metrics []byte) trace.Attrs {
		return r.endAttrs(model, status, output, metrics)
	}}
}

// writesText reports whether answers have choices with a finish reason.
func (r *Request) writesText() bool { return r.Endpoint == Chat || r.Endpoint == Completions }

// stopTexts returns the stop sequences in a parameter that was checked, or that the function takes.
func stopTexts(value []byte) []string {
	if value == nil {
		return nil
	}
	stops, err := readStop(value)
	if err != nil {
		return nil
	}
	return clipped(stops)
}

func clipped(texts []string) []string {
	out := make([]string, len(texts))
	for i := range texts {
		out[i] = logtext.Clip(texts[i])
	}
	return out
}

// endAttrs describes the end of one prediction of a request.
func (r *Request) endAttrs(model string, status predict.Status, output, metrics []byte) trace.Attrs {
	attrs := trace.Attrs{}.Text("gen_ai.response.model", model)
	var u Usage
	u.add(metrics, true)
	if u.Prompt > 0 {
		attrs = attrs.Int("gen_ai.usage.input_tokens", u.Prompt)
	}
	if u.Completion > 0 && r.Endpoint != Embeddings {
		attrs = attrs.Int("gen_ai.usage.output_tokens", u.Completion)
	}
	if reasons := r.reasons(status, output); len(reasons) > 0 {
		attrs = attrs.Texts("gen_ai.response.finish_reasons", reasons)
	}
	return attrs
}

// reasons returns the finish reasons of a prediction's choices. A prediction that was canceled has some only if its
// text has ended at a stop sequence.
func (r *Request) reasons(status predict.Status, output []byte) (reasons []string) {
	if !r.writesText() || status == predict.Failed || output == nil {
		return nil
	}
	messages, err := r.messagesOf(output)
	if err != nil {
		return nil
	}
	for i := range messages {
		m := &messages[i]
		if stopped := m.cut(r); stopped || status == predict.Succeeded {
			reasons = append(reasons, logtext.Clip(m.reason()))
		}
	}
	return reasons
}
