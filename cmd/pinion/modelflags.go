package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/model"
	"pinion/pyembed/locate"
)

// modelFlags are the flags of the commands beside serve that choose the model and its Python.
type modelFlags struct {
	predictor, python, libPython string
	noneDefaults                 model.NoneDefaults
}

func (s *modelFlags) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.predictor, "predictor", "", "the predictor, as FILE.py:CLASS or FILE.py:FUNCTION (default: cog.yaml's)")
	f.StringVar(&s.python, "python", "", "the Python interpreter (PINION_PYTHON; default: the virtual environment, else python3)")
	f.StringVar(&s.libPython, "libpython", "", "the shared library of that Python (default: found from the interpreter)")
	s.noneDefaults.BindFlags(f)
}

// model reads the model's folder.
func (s *modelFlags) model(dir string) (*model.Model, error) {
	m, err := model.Find(dir, s.predictor, os.Getenv)
	if err == nil {
		err = m.SettleNoneDefaults(s.noneDefaults)
	}
	if err != nil {
		return nil, exit.Misused(err)
	}
	return m, nil
}

func (s *modelFlags) options(m *model.Model) locate.Options {
	return locate.Options{Python: s.python, LibPython: s.libPython, Dir: m.Dir}
}

// folderOf is the argument DIR of a command.
func folderOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

// trains is the model's train function, or an error that says how to have one.
func trains(m *model.Model) error {
	if m.Train == "" {
		return exit.Misused(fmt.Errorf("%s has no train function: write \"train: train.py:train\" into its cog.yaml", m.Dir))
	}
	return nil
}

// has tells whether the model has a train function, or, else, a predict function.
func has(m *model.Model, train bool) error {
	if train {
		return trains(m)
	}
	if m.Ref == "" {
		return exit.Misused(fmt.Errorf("%s has no predict function, only a train function: ask it by pinion train", m.Dir))
	}
	return nil
}
