package model

import (
	"os"

	"github.com/spf13/pflag"

	"pinion/pyembed/locate"
)

// Flags choose a model and its Python.
type Flags struct {
	Predictor, Python, LibPython string
	NoneDefaults                 NoneDefaults
}

func (s *Flags) BindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Predictor, "predictor", "", "the predictor, as FILE.py:CLASS or FILE.py:FUNCTION (default: cog.yaml's)")
	f.StringVar(&s.Python, "python", "",
		"the Python interpreter (PINION_PYTHON; default: the virtual environment, else python3)")
	f.StringVar(&s.LibPython, "libpython", "", "the shared library of that Python (default: found from the interpreter)")
	f.Var(&s.NoneDefaults, "none-defaults",
		"required or optional: whether a request must bring an input whose default is None and whose type "+
			"has no None ("+NoneDefaultsVariable+"; default: cog.yaml's none_defaults, else required)")
}

// FindModel reads a model's folder and applies the flags that concern it.
func (s *Flags) FindModel(dir string) (*Model, error) {
	m, err := Find(dir, s.Predictor, os.Getenv)
	if err != nil {
		return nil, err
	}
	return m, m.SettleNoneDefaults(s.NoneDefaults)
}

// Locate says where the Python of the model in a folder is looked for.
func (s *Flags) Locate(dir string) locate.Options {
	return locate.Options{Python: s.Python, LibPython: s.LibPython, Dir: dir}
}
