package main

import (
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/front"
	"pinion/cmd/pinion/internal/heap"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/sentry"
	"pinion/cmd/pinion/internal/settings"
	"pinion/runtime/telemetry"
)

func newServe() *cobra.Command {
	var s settings.Serve
	cmd := &cobra.Command{
		Use:   "serve [DIR | NAME=DIR...]",
		Short: "Serve the model of a folder (default: the current one), or several models",
		RunE: func(cmd *cobra.Command, args []string) error {
			heap.Pause()
			models, err := s.ReadModels(cmd.Flags(), args, os.Getenv)
			if err != nil {
				return process.Misused(err)
			}
			of := models.List[0].Found
			if s.Telemetry, err = telemetry.Read(of.Getenv, of.Observability); err != nil {
				return err
			}
			if s.Sentry, err = sentry.Read(of.Getenv, os.Environ()); err != nil {
				s.Server.Warnings = append(s.Server.Warnings, err.Error())
			}
			var reread func() (*settings.Models, error)
			if s.Config != "" {
				reread = func() (*settings.Models, error) { return s.RereadModels(cmd.Flags()) }
			}
			return serve(&s.Server, models.List, reread)
		},
	}
	s.BindFlags(cmd.Flags())
	return cmd
}

func serve(s *settings.Server, models []settings.Named, reread func() (*settings.Models, error)) error {
	log, sink := s.Log.Open()
	defer sink.Flush(logging.FlushTimeout)
	f, err := front.New(s, models, reread, log, sink)
	if err != nil {
		return process.Failed(err)
	}
	if code := f.Run(); code != process.ExitOK {
		return process.ExitWith(code)
	}
	return nil
}
