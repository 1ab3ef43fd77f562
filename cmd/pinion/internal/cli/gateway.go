package cli

import (
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/server"
)

const gatewayHelp = `Answer the HTTP API of models without the models: every request waits in a model's job queue until a server of
'pinion serve --nats' runs it. So predictions are accepted while no server runs. Several gateways may stand side by
side. No Python is needed.`

const gatewayExamples = `  pinion gateway --nats nats://localhost:4222 --model ocr
  pinion gateway --nats nats://localhost:4222 --models ocr,embed
  pinion gateway --nats nats://localhost:4222`

func newGateway() *cobra.Command {
	var s config.Gateway
	cmd := &cobra.Command{
		Use: "gateway", Short: "Accept requests into the job queues of models, without the models", Long: gatewayHelp,
		Example: gatewayExamples,
		Args:    noArguments,
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
