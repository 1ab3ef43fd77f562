package cli

import (
	"fmt"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
)

// findModel reads a model's folder.
func findModel(s *model.Flags, dir string) (*model.Model, error) {
	m, err := s.FindModel(dir)
	return m, process.Misused(err)
}

// folderOf returns the argument DIR of a command.
func folderOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

// requireTrain returns an error that says how to have a train function, unless the model has one.
func requireTrain(m *model.Model) error {
	if m.Train == "" {
		return process.Misused(fmt.Errorf("%s has no train function: write \"train: train.py:train\" into its cog.yaml",
			m.Dir))
	}
	return nil
}

// requireFunction returns an error unless the model has a train function, or a predict function if train is false.
func requireFunction(m *model.Model, train bool) error {
	if train {
		return requireTrain(m)
	}
	if m.Ref == "" {
		return process.Misused(fmt.Errorf("%s has no predict function, only a train function: ask it by pinion train", m.Dir))
	}
	return nil
}
