package metrics

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Generation is a request to a generative model, by OpenTelemetry's semantic conventions for GenAI.
type Generation struct {
	Operation string // gen_ai.operation.name
	Model     string // gen_ai.request.model
	Status    int    // HTTP status; of a stream that failed after its beginning, that of its error
	Took      time.Duration
	// FirstToken is the time to the first token, and PerToken that between two; 0 means not known.
	FirstToken, PerToken time.Duration
}

// maxGenerations bounds the combinations of operation, model and status.
const maxGenerations = 500

type generationKey struct {
	operation, model string
	status           int // 0 means it succeeded
}

// generations are those of one combination of labels.
type generations struct {
	labels                 []Label
	took, first, perOutput *histogram
}

func (s *Set) Generation(g Generation) {
	key := generationKey{g.Operation, g.Model, g.Status}
	if g.Status < 400 {
		key.status = 0
	}
	of := s.generations.snapshot()[key]
	if of == nil {
		if of = s.generations.add(key, maxGenerations, s.newGenerations); of == nil {
			return
		}
	}
	of.took.observe(g.Took)
	if g.FirstToken > 0 {
		of.first.observe(g.FirstToken)
	}
	if g.PerToken > 0 {
		of.perOutput.observe(g.PerToken)
	}
}

func (s *Set) newGenerations(key generationKey) *generations {
	b := s.predictions.queue.bounds
	of := &generations{
		labels: pairs("gen_ai.operation.name", key.operation, "gen_ai.provider.name", "pinion", "gen_ai.request.model",
			key.model),
		took: b.histogram(), first: b.histogram(), perOutput: b.histogram(),
	}
	if key.status != 0 {
		of.labels = append(of.labels, Label{"error.type", strconv.Itoa(key.status)})
	}
	return of
}

// gatherGenerations adds the generations, by OpenTelemetry's names.
func (s *Set) gatherGenerations(g *gathered) {
	for _, f := range []struct {
		name, help string
		of         func(*generations) *histogram
	}{
		{
			"gen_ai.server.request.duration", "Time from a request's arrival to its last token.",
			func(of *generations) *histogram { return of.took },
		},
		{
			"gen_ai.server.time_to_first_token", "Time from a request's arrival to the first token of its stream.",
			func(of *generations) *histogram { return of.first },
		},
		{
			"gen_ai.server.time_per_output_token", "Time between two tokens of a stream.",
			func(of *generations) *histogram { return of.perOutput },
		},
	} {
		g.familyIn("s", f.name, Histogram, f.help)
		for _, of := range s.generations.snapshot() {
			if d := sumOf(f.of(of)); d.Count > 0 {
				g.sample(Sample{Labels: of.labels, Histogram: d})
			}
		}
		g.sort()
		g.dropEmpty()
	}
}

// generationsOnPage returns the generations with the names that Prometheus gives them.
func (s *Set) generationsOnPage() []Family {
	var g gathered
	s.gatherGenerations(&g)
	underscores := strings.NewReplacer(".", "_")
	for i := range g {
		g[i].Name = underscores.Replace(g[i].Name) + "_seconds"
		for j := range g[i].Samples {
			sample := &g[i].Samples[j]
			sample.Labels = slices.Clone(sample.Labels)
			for k := range sample.Labels {
				sample.Labels[k].Name = underscores.Replace(sample.Labels[k].Name)
			}
		}
	}
	return g
}
