package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/front"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/usage"
	"pinion/pyembed/locate"
	"pinion/runtime/telemetry"
)

func newServe() *cobra.Command {
	var s settings.Serve
	cmd := &cobra.Command{
		Use:   "serve [[NAME=]DIR]",
		Short: "Serve the model of a folder (default: the current one)",
		Args:  usage.OneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = s.Protocols.TakeName(args[0])
			}
			m, err := s.FindModel(dir)
			if err != nil {
				return exit.Misused(err)
			}
			if err := s.FromEnvironment(cmd.Flags(), m.Getenv); err != nil {
				return err
			}
			if s.Telemetry, err = telemetry.Read(m.Getenv, m.Observability); err != nil {
				return err
			}
			return serve(&s, m)
		},
	}
	s.BindFlags(cmd.Flags())
	return cmd
}

// serve finds what the model is to be served with, before anything listens, and serves it.
func serve(s *settings.Serve, m *model.Model) error {
	if s.Mode == "train" && m.Train == "" {
		return exit.Misused(fmt.Errorf("%s has no train function: write \"train: train.py:train\" into its cog.yaml", m.Dir))
	}
	python, err := locate.Find(locate.Options{Python: s.Python, LibPython: s.LibPython, Dir: m.Dir})
	if err != nil {
		return exit.Misused(err)
	}
	plan, err := s.Fleet.Plan()
	if err != nil {
		return exit.Misused(err)
	}
	log, sink := s.Log.Open()
	defer sink.Flush(logsink.FlushTimeout)
	f, err := front.New(&s.Server, front.Model{Settings: &s.Model, Found: m, Python: python, GPUs: plan}, log, sink)
	if err != nil {
		return exit.Failed(err)
	}
	if code := f.Run(); code != exit.OK {
		return exit.With(code)
	}
	return nil
}
