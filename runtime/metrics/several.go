package metrics

import (
	"cmp"
	"slices"
	"time"
)

// The labels of a model's metrics, where the server has several models, and where a model has several versions.
const (
	labelModel   = "model"
	labelVersion = "model_version"
)

// Several are the metrics of a server with several models.
type Several struct {
	Server *Set              // of ScopeServer
	Models func() []NamedSet // those that there are now
}

// NamedSet is the metrics of a model, of ScopeModel.
type NamedSet struct {
	Name    string
	Version string // "" means it has one
	Set     *Set
}

// Started returns when counting began.
func (s Several) Started() time.Time { return s.Server.Started() }

// Gather returns all metrics as they are now. Those of a model have the label model.
func (s Several) Gather() []Family { return s.join((*Set).Gather) }

// GatherConventional returns Set.GatherConventional of all sets.
func (s Several) GatherConventional() []Family { return s.join((*Set).GatherConventional) }

// Write returns the page, as Set.Write.
func (s Several) Write(accept string) (contentType string, body []byte) {
	return write(accept, append(s.Gather(), s.Server.generationsOnPage()...))
}

// join returns each family once, with the samples of all sets. What the server's own set has of models is dropped once
// they are gone: models come and go without end.
func (s Several) join(gather func(*Set) []Family) []Family {
	models := s.Models()
	s.Server.generations.keep(func(key generationKey) bool {
		return slices.ContainsFunc(models, func(m NamedSet) bool {
			return key.model == m.Name || key.model == m.Name+"@"+m.Version // a client may ask for a version
		})
	})
	families := gather(s.Server)
	at := make(map[string]int, len(families))
	for i := range families {
		at[families[i].Name] = i
	}
	for _, m := range models {
		for _, f := range gather(m.Set) {
			samples := f.Samples
			i, there := at[f.Name]
			if !there {
				i = len(families)
				at[f.Name] = i
				f.Samples = nil
				families = append(families, f)
			}
			for _, sample := range samples {
				sample.Labels = with(sample.Labels, labelModel, m.Name)
				if m.Version != "" {
					sample.Labels = with(sample.Labels, labelVersion, m.Version)
				}
				families[i].Samples = append(families[i].Samples, sample)
			}
		}
	}
	return families
}

// with returns labels with one more, in the order of the names. The labels may be shared.
func with(labels []Label, name, value string) []Label {
	i, _ := slices.BinarySearchFunc(labels, name, func(l Label, name string) int { return cmp.Compare(l.Name, name) })
	return slices.Concat(labels[:i], []Label{{name, value}}, labels[i:])
}
