package cli

import (
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/server"
)

const gatewayHelp = `Answer the HTTP API of a model without the model: every request waits in the model's job queue until a server of pinion serve
--nats runs it. So predictions are accepted while no server runs. Several gateways may stand side by side. No Python is needed.

  pinion gateway --nats nats://localhost:4222 --model ocr`

func newGateway() *cobra.Command {
	var s config.Gateway
	cmd := &cobra.Command{
		Use: "gateway", Short: "Accept requests into a model's job queue, without the model", Long: gatewayHelp,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.FromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return process.Misused(err)
			}
			return server.RunGateway(&s)
		},
	}
	s.BindFlags(cmd.Flags())
	return cmd
}
