package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/front"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/settings"
	"pinion/pyembed/locate"
	"pinion/runtime/telemetry"
)

func newServe() *cobra.Command {
	var s settings.Serve
	cmd := &cobra.Command{
		Use:   "serve [DIR | NAME=DIR...]",
		Short: "Serve the model of a folder (default: the current one), or several models",
		RunE: func(cmd *cobra.Command, args []string) error {
			folders, err := s.Folders(args)
			if err != nil {
				return exit.Misused(err)
			}
			models, err := readModels(&s, cmd.Flags(), folders)
			if err != nil {
				return err
			}
			return serve(&s.Server, models)
		},
	}
	s.BindFlags(cmd.Flags())
	return cmd
}

// readModels reads the folders of the models, the first of which is the default. The flags of a model are every model's. A model's
// variables may stand in its cog.yaml, the server's in that of the default model.
func readModels(s *settings.Serve, flags *pflag.FlagSet, folders []settings.Folder) ([]front.Model, error) {
	given := s.Model
	var models []front.Model
	for i, folder := range folders {
		own := &s.Model
		if i > 0 {
			again := given
			own = &again
		}
		m, err := own.FindModel(folder.Dir)
		if err != nil {
			return nil, exit.Misused(ofModel(folders, i, err))
		}
		if i > 0 {
			err = own.FromEnvironment(flags, m.Getenv)
		} else if err = s.FromEnvironment(flags, m.Getenv); err == nil {
			s.Telemetry, err = telemetry.Read(m.Getenv, m.Observability)
		}
		if err != nil {
			return nil, ofModel(folders, i, err)
		}
		if i > 0 && m.Observability != (telemetry.CogYAML{}) {
			own.Warnings = append(own.Warnings, "observability of its cog.yaml is not used: the server has that of the default model")
		}
		name := folder.Name
		if len(folders) == 1 {
			name = s.Protocols.ModelName(m)
		}
		model, err := prepare(front.Model{Name: name, Settings: own, Found: m})
		if err != nil {
			return nil, exit.Misused(ofModel(folders, i, err))
		}
		models = append(models, model)
	}
	if len(folders) > 1 {
		if err := s.CheckSeveral(); err != nil {
			return nil, exit.Misused(err)
		}
	}
	return models, nil
}

// ofModel says which of several models an error is of.
func ofModel(folders []settings.Folder, i int, err error) error {
	if len(folders) == 1 {
		return err
	}
	return fmt.Errorf("model %s: %w", folders[i].Name, err)
}

// prepare finds what a model is to be served with, before anything listens.
func prepare(m front.Model) (front.Model, error) {
	s := m.Settings
	if s.Mode == "train" && m.Found.Train == "" {
		return m, fmt.Errorf("%s has no train function: write \"train: train.py:train\" into its cog.yaml", m.Found.Dir)
	}
	var err error
	if m.Python, err = locate.Find(locate.Options{Python: s.Python, LibPython: s.LibPython, Dir: m.Found.Dir}); err != nil {
		return m, err
	}
	m.GPUs, err = s.Fleet.Plan()
	return m, err
}

func serve(s *settings.Server, models []front.Model) error {
	log, sink := s.Log.Open()
	defer sink.Flush(logsink.FlushTimeout)
	f, err := front.New(s, models, log, sink)
	if err != nil {
		return exit.Failed(err)
	}
	if code := f.Run(); code != exit.OK {
		return exit.With(code)
	}
	return nil
}
