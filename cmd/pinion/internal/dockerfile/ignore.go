package dockerfile

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"pinion/cmd/pinion/internal/model"
)

// Ignore is the .dockerignore: what no image needs, the folder's own, and weights that come from elsewhere.
func (p *Plan) Ignore() string {
	w := &writer{}
	w.lines("# Made by pinion "+p.Version+": what no image needs, then the folder's own .dockerignore.",
		"**/.git", "**/.venv", "**/__pycache__", "**/*.pyc", "**/.pytest_cache", "**/.mypy_cache", "**/.ruff_cache", "**/.DS_Store", "**/.cog/tmp")
	if own, err := os.ReadFile(filepath.Join(p.root, ".dockerignore")); err == nil {
		w.lines(strings.TrimSpace(string(own)))
	}
	var weights []string
	for _, entry := range p.build.Weights {
		place, local := p.localWeight(entry)
		if !local {
			place = p.inFolder(entry.Target)
			if place != "" {
				place = path.Join(p.below, place)
			}
		}
		if place != "" {
			weights = append(weights, place)
		}
	}
	if len(weights) > 0 {
		w.lines("# Weights, which are fetched, or have a separate layer.")
		w.lines(weights...)
	}
	needed := append([]string{path.Join(p.below, model.CogFile)}, p.requirements...)
	if _, err := os.Stat(filepath.Join(p.root, p.below, model.StoredSchema)); err == nil {
		needed = append(needed, path.Join(p.below, model.StoredSchema))
	}
	w.lines("# What the build reads.")
	for _, place := range needed {
		w.lines("!" + place)
	}
	return w.String()
}
