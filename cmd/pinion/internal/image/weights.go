package image

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/runtime/weights"
)

// weightCopy is a file or folder of weights that is part of the image.
type weightCopy struct {
	from string // below the context
	to   string // a path of the image
}

// readWeights finds the local weights, and notes which ones the image does not have.
func (p *Plan) readWeights(add reporter) {
	for _, w := range p.build.Weights {
		if len(w.Sources) == 0 {
			w.Sources = []model.Source{{Source: weights.Source{URI: p.inFolder(w.Target)}, Line: w.Line}}
		}
		for _, s := range w.Sources {
			switch {
			case s.Remote():
				p.noteFetched(w, s)
			case s.URI == "":
				add(w.Line, "weights: an entry has neither source nor target",
					"write target: and the path where the model reads them")
			default:
				p.localWeights(w, s, add)
			}
		}
	}
}

func (p *Plan) noteFetched(w model.Weight, s model.Source) {
	if place := p.inFolder(w.Target); place != "" {
		p.weightPlaces = append(p.weightPlaces, path.Join(p.below, place))
	}
	p.Notes = append(p.Notes, model.Problem{
		File: model.CogFile, Line: s.Line, What: fmt.Sprintf("weights: %s is not part of the image", cmp.Or(w.Name, s.URI)),
		Fix: fmt.Sprintf("mount a volume at %s that holds %s, or fetch it in setup",
			cmp.Or(w.Target, "the path that the model reads"), s.URI),
	})
}

// localWeights plans the copies of a source that is below the model's folder.
func (p *Plan) localWeights(w model.Weight, s model.Source, add reporter) {
	place := strings.TrimPrefix(s.Path(), p.folder()+"/")
	if path.IsAbs(place) {
		if below, err := filepath.Rel(filepath.Join(p.root, p.below), place); err == nil {
			place = filepath.ToSlash(below)
		}
	}
	place = path.Join(p.below, place)
	if place == ".." || strings.HasPrefix(place, "../") {
		add(s.Line, fmt.Sprintf("weights: %s is outside of the folder that the image is built from", s.URI),
			"put the weights below it, or name a folder above both by --context")
		return
	}
	info, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(place)))
	if err != nil {
		add(s.Line, fmt.Sprintf("weights: %s does not exist", place),
			"put the weights there, or write source: with the URL that they come from")
		return
	}
	chosen := info.IsDir() && s.Filters()
	if code := place == "." || place == p.below; code && !chosen {
		add(s.Line, "weights: the source is the model's folder, which has the code",
			"name a folder below it, or the files by include")
		return
	} else if !code {
		p.weightPlaces = append(p.weightPlaces, place)
	}
	to := p.weightTarget(w.Target, place)
	switch {
	case chosen:
		p.chosenWeights(s, place, to, add)
	case len(w.Sources) > 1 && !info.IsDir():
		p.weights = append(p.weights, weightCopy{place, path.Join(to, path.Base(place))})
	default:
		p.weights = append(p.weights, weightCopy{place, to})
	}
}

// chosenWeights plans a copy of each file that the patterns of a source take.
func (p *Plan) chosenWeights(s model.Source, place, to string, add reporter) {
	files, err := s.Files(filepath.Join(p.root, filepath.FromSlash(place)))
	switch {
	case err != nil:
		add(s.Line, fmt.Sprintf("weights: %s cannot be read: %v", place, err), "make it readable")
	case len(files) == 0:
		what, fix := model.NoFiles(place)
		add(s.Line, what, fix)
	}
	for _, file := range files {
		from := path.Join(place, file)
		p.weights = append(p.weights, weightCopy{from, path.Join(to, file)})
		if place == "." || place == p.below {
			p.weightPlaces = append(p.weightPlaces, from)
		}
	}
}

// weightTarget returns where weights are in the image: at the target, else in the place that they have in the context.
func (p *Plan) weightTarget(target, place string) string {
	switch {
	case target == "":
		return path.Join("/src", place)
	case !path.IsAbs(target):
		return path.Join(p.folder(), target)
	}
	return target
}

// LocalWeights reports whether the builder needs the context `weights`, which is the same folder as the main one.
func (p *Plan) LocalWeights() bool { return len(p.weights) > 0 }

func (p *Plan) copyWeights(w *writer) {
	if !p.LocalWeights() {
		return
	}
	w.lines("# Weights: a separate layer, which a change of code leaves as it is.")
	for _, c := range p.weights {
		w.lines(copyLine("--from=weights --chown="+userID+" ", c.from, c.to))
	}
}
