package model

import (
	"os"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
)

// Flags choose a model and its Python.
type Flags struct {
	Predictor, Python, LibPython string
	NoneDefaults                 NoneDefaults
}

// BindFlags declares the flags, for commands that read no variables of their own.
func (s *Flags) BindFlags(f *pflag.FlagSet) { s.Settings().Bind(f) }

func (s *Flags) Settings() usertext.Settings {
	return usertext.Settings{
		{
			To: &s.Predictor, Name: "predictor", Variable: usertext.NoVariable, Group: usertext.GroupModel, Common: true,
			Help: "the predictor, as FILE.py:CLASS or FILE.py:FUNCTION", Default: "cog.yaml's",
		},
		PythonSetting(&s.Python),
		{
			To: &s.LibPython, Name: "libpython", Variable: usertext.NoVariable, Group: usertext.GroupModel, IsPath: true,
			Help: "the shared library of that Python", Default: "found from the interpreter",
		},
		{
			To: &s.NoneDefaults, Name: "none-defaults", IsRead: true, Group: usertext.GroupModel,
			Words: []string{string(noneRequired), string(NoneOptional)},
			Help: "required or optional: whether a request must bring an input whose default is None and whose type has no " +
				"None",
			Default: "cog.yaml's none_defaults, else required",
		},
	}
}

// PythonSetting is the setting of an interpreter.
func PythonSetting(to *string) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "python", IsRead: true, Group: usertext.GroupModel, Common: true, IsPath: true,
		Help: "the Python interpreter", Default: "the virtual environment, else python3",
	}
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
