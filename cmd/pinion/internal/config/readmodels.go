package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
	"pinion/runtime/gpu"
)

// Named is a model of a server that has several.
type Named struct {
	Name     string
	Settings *Model
	Found    *model.Model
	Python   *locate.Python
	GPUs     gpu.Plan
}

// Models are the models of a server; the first is the default.
type Models struct {
	List   []Named        // empty means SageMaker loads all
	Memory usertext.Bytes // what loaded models may have together; 0 means any
	// Traffic is the shares of versions; nil means the first one of each model serves, or what a client has asked for.
	Traffic Traffic
	Mirrors []string // the versions that get copies of requests
	none    error    // why there must be one in List, unless SageMaker loads models
}

// ReadModels reads the settings of the server and of its models: those of the folders that args name, or of the file of
// --config. The flags of the command line are every model's default. The server's variables may stand in the cog.yaml
// of the default model.
func (s *Serve) ReadModels(given *pflag.FlagSet, args []string, env func(string) string) (*Models, error) {
	file := s.Config
	if file == "" && len(args) == 0 {
		file = env("PINION_CONFIG")
	}
	if file != "" && len(args) > 0 {
		return nil, fmt.Errorf("--config %s names the models: leave out %s", file, strings.Join(args, " "))
	}
	models, err := s.readModels(given, args, file)
	var none *model.NoPredictorError
	if errors.As(err, &none) && none.Bare && file == "" && len(args) == 0 {
		models, err = &Models{none: err}, nil
	}
	if err != nil {
		return nil, err
	}
	if len(models.List) == 0 {
		s.Config, s.ModelsMemory = file, models.Memory
		return models, s.startWithNone(given, env, models.none)
	}
	first := &models.List[0]
	if err := s.Server.FromEnvironment(given, first.Found.Getenv); err != nil {
		return nil, err
	}
	s.Server.Warnings = append(s.Server.Warnings, models.idle(given, s)...)
	s.Config, s.ModelsMemory = file, models.Memory
	s.Traffic, s.Mirrors = models.Traffic, models.Mirrors
	if err := cmp.Or(s.Jobs.check(first.Settings.ResultTTL), s.checkModels(models)); err != nil {
		return nil, err
	}
	if file == "" && len(models.List) == 1 {
		first.Name = s.Protocols.ModelName(first.Found)
		if s.Protocols.MultiModel {
			return models, checkMultiModel(first.Name)
		}
		return models, nil
	}
	return models, cmp.Or(s.checkSeveral(), s.Protocols.CheckTools(models.List))
}

// startWithNone reads the settings of a server without models, if SageMaker loads them while it runs. Otherwise the
// error is missing.
func (s *Serve) startWithNone(given *pflag.FlagSet, env func(string) string, missing error) error {
	if err := s.Server.FromEnvironment(given, env); err != nil {
		return err
	}
	if !s.Protocols.MultiModel {
		return missing
	}
	return cmp.Or(s.Jobs.check(s.ResultTTL), s.checkSeveral())
}

// ReadFolder reads the model of a folder that comes while the server runs. The flags of the command line are its
// defaults.
func (s *Serve) ReadFolder(given *pflag.FlagSet, name, dir string) (Named, error) {
	if !IsModelName(name) {
		return Named{}, fmt.Errorf("invalid model name %.100q: %s", name, modelNameForm)
	}
	read, err := readModel(given, FileModel{Name: name, Dir: dir}, nil)
	if err != nil {
		return read, err
	}
	return read, s.Jobs.checkTTL(read.Settings.ResultTTL)
}

// RereadModels reads the file of --config again. The server's own settings stay.
func (s *Serve) RereadModels(given *pflag.FlagSet) (*Models, error) {
	models, err := readFile(s.Config, given)
	switch {
	case err != nil:
		return nil, err
	case models.none != nil && !s.Protocols.MultiModel:
		return nil, models.none
	}
	return models, cmp.Or(s.checkModels(models), s.Protocols.CheckTools(models.List))
}

// checkModels refuses models that could never be loaded, and times for results that are longer than the job queue keeps
// them.
func (s *Serve) checkModels(models *Models) error {
	ttls := map[string]Named{} // the version before of each model
	for _, m := range models.List {
		name, _, _ := SplitVersion(m.Name)
		first, several := ttls[name]
		if several && s.Jobs.NATS.On() && first.Settings.ResultTTL != m.Settings.ResultTTL {
			return fmt.Errorf("%s has result-ttl %s and %s has %s: with --nats the versions of a model share its job queue, so give both the same",
				first.Name, first.Settings.ResultTTL, m.Name, m.Settings.ResultTTL)
		}
		ttls[name] = m
		if m.Settings.Loading.When == Manual && !s.Exposure.ModelControl() {
			return fmt.Errorf("model %s is loaded by POST /models/%[1]s/load, which needs --reload",
				cmp.Or(m.Name, m.Found.Title()))
		}
		if err := s.Jobs.checkTTL(m.Settings.ResultTTL); err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	return nil
}

func (s *Serve) readModels(given *pflag.FlagSet, args []string, file string) (*Models, error) {
	if file != "" {
		return readFile(file, given)
	}
	folders, err := s.folders(args)
	if err != nil {
		return nil, err
	}
	models := &Models{}
	for _, folder := range folders {
		read, err := readModel(given, FileModel{Name: folder.Name, Dir: folder.Dir}, nil)
		if err != nil {
			if len(folders) > 1 {
				err = fmt.Errorf("model %s: %w", folder.Name, err)
			}
			return nil, err
		}
		models.List = append(models.List, read)
	}
	return models, nil
}

func readFile(path string, given *pflag.FlagSet) (*Models, error) {
	file, err := ReadModelsFile(path, fileWords())
	if err != nil {
		return nil, err
	}
	models, mistakes := &Models{
		Memory: file.Memory, Traffic: file.Traffic, Mirrors: file.Mirrors, none: file.none,
	}, &FileError{File: path}
	if _, _, err := withDefaults("", given); err != nil {
		return nil, err
	}
	for _, m := range file.Models {
		read, err := readModel(given, m, file.Below)
		var line *lineError
		switch {
		case errors.As(err, &line):
			mistakes.Add(line.line, m.Name+": "+line.Error(), "")
		case err != nil:
			return nil, err
		}
		if m.Name == file.Default {
			models.List = slices.Insert(models.List, 0, read)
		} else {
			models.List = append(models.List, read)
		}
	}
	return models, mistakes.OrNil()
}

// idle returns warnings of the server's flags that no model makes use of.
func (s *Models) idle(given *pflag.FlagSet, server *Serve) (warnings []string) {
	none := func(to any, has func(Named) bool, why string) {
		if flag := server.Server.list.Of(to); given.Changed(flag.Name) && !slices.ContainsFunc(s.List, has) {
			warnings = append(warnings, flag.Flag()+" has no effect "+why)
		}
	}
	none(&server.failFast, func(m Named) bool { return m.Settings.Loading.When == AtStartup }, "without --load "+AtStartup)
	none(&server.Jobs.ReplayPuts, func(m Named) bool { return m.Settings.ResultTTL > 0 }, "with --result-ttl 0")
	return warnings
}

// fileWords returns the keys that the file may have.
func fileWords() (words fileKeys) {
	s, unused := &Serve{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	s.Server.BindFlags(unused)
	s.Model.bindKeys(unused)
	words.Model, words.Server = s.Model.list.Names(), s.Server.list.Names()
	return words
}

// lineError is what is wrong in a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return strings.TrimPrefix(e.err.Error(), "--") }

func (e *lineError) Unwrap() error { return e.err }

// at says in which line of the file an error is; without a line it is on the command line.
func at(line int, err error) error {
	if err == nil || line == 0 {
		return err
	}
	return &lineError{line, err}
}

// readModel gives a model the flags of the command line, and then its keys; below makes a path of the file's folder of one in the
// file.
func readModel(given *pflag.FlagSet, m FileModel, below func(string) string) (Named, error) {
	settings, f, err := withDefaults(m.Name, given)
	n := Named{Name: m.Name, Settings: settings}
	if err != nil {
		return n, err
	}
	lines := map[string]int{}
	for _, k := range m.Keys {
		lines[k.Name] = k.Line
		value := k.Value
		if f.Lookup(k.Name).Value.(*usertext.Setting).IsPath && strings.Contains(value, string(filepath.Separator)) {
			value = below(value)
		}
		if err := usertext.FlagValueError(f.Set(k.Name, value)); err != nil {
			return n, at(k.Line, err)
		}
	}
	python := settings.list.Of(&settings.Python).Name
	err = n.find(f, m.Dir)
	if _, ok := errors.AsType[*locate.Error](err); ok && lines[python] > 0 {
		return n, at(lines[python], err)
	}
	return n, at(m.Line, err)
}

// withDefaults makes the settings of a model by the command line alone, and the keys that change them.
func withDefaults(name string, given *pflag.FlagSet) (*Model, *pflag.FlagSet, error) {
	settings, f := &Model{}, pflag.NewFlagSet(name, pflag.ContinueOnError)
	settings.bindKeys(f)
	return settings, f, takeDefaults(f, given)
}

// takeDefaults gives a model the flags of the command line that belong to models.
func takeDefaults(f, given *pflag.FlagSet) (err error) {
	given.Visit(func(flag *pflag.Flag) {
		if f.Lookup(flag.Name) != nil && err == nil {
			err = usertext.FlagValueError(f.Set(flag.Name, flag.Value.String()))
		}
	})
	return err
}

// find finds the model's folder, its settings there, and what it is run with.
func (n *Named) find(f *pflag.FlagSet, dir string) (err error) {
	if n.Found, err = n.Settings.FindModel(dir); err != nil {
		return err
	}
	if err := n.Settings.FromEnvironment(f, n.Found.Getenv); err != nil {
		return err
	}
	n.Python, n.GPUs, err = n.Settings.Interpreter(n.Found)
	return err
}
