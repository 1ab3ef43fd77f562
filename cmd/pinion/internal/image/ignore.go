package image

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
)

// Ignore returns the .dockerignore: what no image needs, the folder's own, and weights that come from elsewhere.
func (p *Plan) Ignore() string {
	w := &writer{}
	w.lines("# Made by pinion "+p.Version+": what no image needs, then the folder's own .dockerignore.",
		"**/.git", "**/.venv", "**/__pycache__", "**/*.pyc", "**/.pytest_cache", "**/.mypy_cache", "**/.ruff_cache",
		"**/.DS_Store", "**/.cog/tmp")
	if own, err := usertext.ReadFile(filepath.Join(p.root, ".dockerignore"), usertext.MaxText); err == nil {
		w.lines(strings.TrimSpace(string(own)))
	}
	if len(p.weightPlaces) > 0 {
		w.lines("# Weights, which are fetched, or have a separate layer.")
		for _, place := range p.weightPlaces {
			w.lines(ignorePattern(place))
		}
	}
	needed := append([]string{path.Join(p.below, model.CogFile)}, p.requirements...)
	if _, err := os.Stat(filepath.Join(p.root, p.below, model.StoredSchema)); err == nil {
		needed = append(needed, path.Join(p.below, model.StoredSchema))
	}
	w.lines("# What the build reads.")
	for _, place := range needed {
		w.lines("!" + ignorePattern(place))
	}
	return w.String()
}

// ignorePattern returns the pattern for one file or folder, whose name may begin with ! or #, which have a meaning
// there.
func ignorePattern(place string) string {
	place = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(place)
	if strings.HasPrefix(place, "!") || strings.HasPrefix(place, "#") {
		return `\` + place
	}
	return place
}
