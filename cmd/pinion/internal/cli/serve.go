package cli

import (
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/resources"
	"pinion/cmd/pinion/internal/server"
	"pinion/runtime/telemetry"
)

const serveExamples = `  pinion serve
  pinion serve greeter -p 8000 --workers 2
  pinion serve ocr=./ocr embed=./embed`

func newServe() *cobra.Command {
	var s config.Serve
	cmd := &cobra.Command{
		Use:     "serve [DIR | NAME=DIR...]",
		Short:   "Serve the model of a folder (default: the current one), or several models",
		Long:    "Serve the model of a folder (default: the current one), or several models, each below /models/NAME.",
		Example: serveExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			resources.PauseHeap()
			models, err := s.ReadModels(cmd.Flags(), args, os.Getenv)
			if err != nil {
				return process.Misused(err)
			}
			of := &model.Model{} // without one, the variables are those of the process
			if len(models.List) > 0 {
				of = models.List[0].Found
			}
			if s.Telemetry, err = telemetry.Read(of.Getenv, of.Observability); err != nil {
				return err
			}
			if s.Sentry, err = logging.ReadSentry(of.Getenv, os.Environ()); err != nil {
				s.Server.Warnings = append(s.Server.Warnings, err.Error())
			}
			var read server.Reader
			if s.Config != "" {
				read.File = func() (*config.Models, error) { return s.RereadModels(cmd.Flags()) }
			}
			if s.Protocols.MultiModel {
				read.Folder = func(name, dir string) (config.Named, error) { return s.ReadFolder(cmd.Flags(), name, dir) }
			}
			return serve(&s.Server, models.List, read)
		},
	}
	s.BindFlags(cmd.Flags())
	return cmd
}

func serve(s *config.Server, models []config.Named, read server.Reader) error {
	log, sink := s.Log.Open()
	defer sink.Flush(logging.FlushTimeout)
	f, err := server.New(s, models, read, log, sink)
	if err != nil {
		return process.Failed(err)
	}
	return f.Run()
}
