package model

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pinion/runtime/telemetry"
	"pinion/runtime/weights"
)

// Model is where the predictor comes from.
type Model struct {
	Dir         string   // absolute; the worker's working folder
	Description string   // from cog.yaml: one line, or "" for none
	Logo        string   // from cog.yaml: a picture in the folder, or "" for none
	Image       string   // from cog.yaml: the image that it is built to, or "" for none
	Ref         string   // "run.py:Runner"; "" means there is only a train function
	Train       string   // "train.py:train", or "" for none
	Env         []string // NAME=value, from cog.yaml; without what the process' own environment has
	Concurrency int      // from cog.yaml; 0 means not said
	Ranks       int      // the same
	// NoneDefaults is cog.yaml's, until SettleNoneDefaults.
	NoneDefaults NoneDefaults
	// Observability is cog.yaml's, not checked yet.
	Observability telemetry.CogYAML
	// Weights are cog.yaml's, as far as a server fetches them.
	Weights []weights.Weight
	// Findings are the mistakes in cog.yaml that do not keep the model from being served.
	Findings []Problem
}

// CheckFolder says what is wrong where there is no folder.
func CheckFolder(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		if filepath.Base(dir) == dir && filepath.Ext(dir) == "" {
			return fmt.Errorf("%s does not exist: name the folder that holds cog.yaml; 'pinion init %[1]s' makes one", dir)
		}
		return fmt.Errorf("%s does not exist: name the folder that holds cog.yaml", dir)
	case err != nil:
		return fmt.Errorf("find model folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder: name the one that holds cog.yaml, as %s; without a cog.yaml, add --predictor %s:NAME",
			dir, filepath.Dir(dir), filepath.Base(dir))
	}
	return nil
}

// Find reads a model's folder. ref is the flag --predictor, or "".
func Find(dir, ref string, env func(string) string) (*Model, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", dir, err)
	}
	if err := CheckFolder(dir); err != nil {
		return nil, err
	}
	m := &Model{Dir: abs}
	report := readCogYAML(abs, false)
	if len(report.unusable) > 0 {
		return nil, fmt.Errorf("the model in %s cannot be served:\n%w", abs,
			&ProblemsError{&Reading{Problems: report.unusable}})
	}
	y := report.settings()
	m.Weights = report.fetched
	m.Description, m.Image, m.Logo, m.Observability = y.description, y.image, y.logo, y.observability
	m.Env, m.Concurrency, m.Ranks = unset(y.environment), y.concurrency, y.ranks
	_ = m.NoneDefaults.Set(y.noneDefaults) // the report has checked it
	m.Train = cmp.Or(env("COG_TRAIN_TYPE_STUB"), y.train)
	m.Ref = cmp.Or(ref, env("COG_PREDICT_TYPE_STUB"), y.run, y.predict, conventional(abs))
	m.Findings = report.findings(y.run != "" && m.Ref == y.run)
	if m.Ref == "" && m.Train == "" {
		return nil, &NoPredictorError{Dir: abs, Bare: report.root == nil}
	}
	return m, nil
}

// NoPredictorError says that a folder holds no model.
type NoPredictorError struct {
	Dir  string
	Bare bool // it has no cog.yaml either, or an empty one
}

func (e *NoPredictorError) Error() string {
	return e.Dir + " names no predictor: write \"run: run.py:Runner\" into its cog.yaml, " +
		"give --predictor FILE.py:CLASS, or make a model here with pinion init"
}

// unset returns the entries whose variables the process does not have. Cog makes the entries of cog.yaml part of the
// image, where the variables that a container is started with override them.
func unset(entries []string) []string {
	return slices.DeleteFunc(slices.Clone(entries), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, set := os.LookupEnv(name)
		return set
	})
}

// Getenv is os.Getenv with the model's own environment as a fallback: the server's variables may be set in cog.yaml,
// too.
func (m *Model) Getenv(name string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	for _, entry := range slices.Backward(m.Env) { // of two the last counts, as for the worker
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Name returns the reference that stands for the model.
func (m *Model) Name() string { return cmp.Or(m.Ref, m.Train) }

// Title returns the model's name for people: that of its image, else of its folder.
func (m *Model) Title() string {
	image, _, _ := strings.Cut(m.Image, "@")
	image, _, _ = strings.Cut(path.Base(image), ":")
	if image != "." && image != "/" {
		return image
	}
	switch folder := filepath.Base(m.Dir); folder {
	case "src", "app", "/": // the usual folders of models in images
		return "Model"
	default:
		return folder
	}
}

// Mode returns what a worker is to load: "train" where that is asked for, or there is nothing else.
func (m *Model) Mode(asked string) string {
	if m.Ref == "" {
		return "train"
	}
	return asked
}

// conventional returns the file that holds the predictor where nothing names one.
func conventional(dir string) string {
	for _, name := range []string{"run.py", "predict.py"} {
		if isFile(filepath.Join(dir, name)) {
			return name
		}
	}
	return ""
}

// WithoutSecrets removes what is for the front alone: a model, or a process that it starts, could disclose it.
func WithoutSecrets(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "WEBHOOK_AUTH_TOKEN=") ||
			strings.HasPrefix(e, "PINION_WEBHOOK_SECRET=") || strings.HasPrefix(e, "PINION_AUTH_TOKEN=")
	})
}
