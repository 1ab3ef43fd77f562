package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/gateway"
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/usage"
	"pinion/runtime/jobs"
)

const gatewayHelp = `Answer the HTTP API of a model without the model: every request waits in the model's job queue until a server of pinion serve
--nats runs it. So predictions are accepted while no server runs. Several gateways may stand side by side. No Python is needed.

  pinion gateway --nats nats://localhost:4222 --model ocr`

func newGateway() *cobra.Command {
	var s settings.Gateway
	cmd := &cobra.Command{
		Use: "gateway", Short: "Accept requests into a model's job queue, without the model", Long: gatewayHelp, Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.FromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return exit.Misused(err)
			}
			return runGateway(s.Options())
		},
	}
	s.BindFlags(cmd.Flags())
	return cmd
}

func runGateway(o gateway.Options) error {
	err := gateway.Run(o)
	var other *jobs.MismatchError
	switch {
	case errors.Is(err, gateway.ErrSocket):
		return exit.With(exit.Failure)
	case errors.As(err, &other):
		return exit.Misused(err)
	}
	return exit.Failed(err)
}
