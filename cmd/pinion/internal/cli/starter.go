package cli

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
)

//go:embed starter
var starterFolder embed.FS

// defaultVersion is the Python for images where this machine has none.
const defaultVersion = "3.13"

// starterFile is a file of a new model.
type starterFile struct {
	name string
	text []byte
}

// starter is a kind of new model. Its own files are in the folder starter/NAME.
type starter struct {
	name    string
	about   string
	predict string // a first prediction, as arguments of 'pinion predict'
}

// starters returns the kinds of new models, the default one first.
func starters() []starter {
	return []starter{
		{"text", "text in, text out", "-i name=Ada"},
		{"image", "a picture in, a picture out, with Pillow", "-i image=@photo.jpg"},
		{"chat", "a conversation, for clients of OpenAI's API", `-i 'messages=[{"role": "user", "content": "one two"}]'`},
		{"sklearn", "a classifier of scikit-learn", "-i petal_length=1.4 -i petal_width=0.2"},
		{"batch", "many predictions in one call", "-i text=queue"},
	}
}

// findStarter finds the kind of a new model by its name.
func findStarter(name string) (starter, error) {
	var names []string
	for _, s := range starters() {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return starter{}, fmt.Errorf("--template %q: must be one of %s", name, strings.Join(names, ", "))
}

// files returns the files of a new model. python is the version for its images.
func (s starter) files(python string) ([]starterFile, error) {
	fill := strings.NewReplacer("PYTHON_VERSION", python, "PREDICT", "pinion predict "+s.predict)
	var written []starterFile
	for _, f := range [][2]string{
		{model.CogFile, "cog.yaml"},
		{"run.py", s.name + "/run.py"},
		{"test_run.py", s.name + "/test_run.py"},
		{"requirements.txt", s.name + "/requirements.txt"},
		{"README.md", "README.md"},
		{".gitignore", "gitignore"},
		{".dockerignore", "dockerignore"},
		{".vscode/settings.json", "settings.json"},
	} {
		text, err := fs.ReadFile(starterFolder, "starter/"+f[1])
		if err != nil {
			return nil, err
		}
		written = append(written, starterFile{f[0], []byte(fill.Replace(string(text)))})
	}
	schema, err := json.MarshalIndent(model.CogSchema(), "", "  ")
	return append(written, starterFile{".vscode/cog.schema.json", append(schema, '\n')}), err
}

// write writes the files of a new model to a folder. It writes none if one of them, or a predictor by another name, is
// there. The names of the files are printed to to.
func (s starter) write(dir string, to io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return process.Misused(fmt.Errorf("make folder %s: %w; choose another folder", dir, usertext.Reason(err)))
	}
	for _, name := range []string{model.CogFile, "run.py", "predict.py"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return process.Misused(
				fmt.Errorf("%s has a %s already, and nothing is overwritten; choose another folder", dir, name))
		}
	}
	python, noPython := locate.Find((&model.Flags{}).Locate(dir))
	version := defaultVersion
	if noPython == nil {
		version = python.Version
	}
	files, err := s.files(version)
	if err != nil {
		return fmt.Errorf("read starting project: %w", err)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write starting project: %w", err)
	}
	defer folder.Close()
	for _, file := range files { // before any is written
		if err := folder.MkdirAll(filepath.Dir(file.name), 0o755); err != nil {
			return fmt.Errorf("write starting project: %w", err)
		}
	}
	for _, file := range files {
		name := filepath.Join(dir, file.name)
		switch err := writeNew(folder, file.name, file.text); {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(to, "kept  %s\n", name)
		case err != nil:
			return fmt.Errorf("write starting project: %w", err)
		default:
			fmt.Fprintf(to, "wrote %s\n", name)
		}
	}
	s.printNext(dir, python, noPython, to)
	return nil
}

// printNext prints the Python that the model would run on, and the commands to try.
func (s starter) printNext(dir string, python *locate.Python, noPython error, to io.Writer) {
	if noPython != nil {
		fmt.Fprintf(to, "\nNo Python serves the model yet: %v\n", noPython)
	} else {
		fmt.Fprintf(to, "\nPython %s: %s (%s)\n", python.Version, python.Executable, python.Source)
	}
	fmt.Fprint(to, "\nNext:\n")
	if dir != "." {
		fmt.Fprintf(to, "  cd %s\n", terminal.ShellWord(dir))
	}
	if s.needsPackages() {
		fmt.Fprint(to, "  python3 -m venv .venv && .venv/bin/pip install -r requirements.txt\n")
	}
	fmt.Fprintf(to, "  pinion predict %s\n  pinion serve\n", s.predict)
}

// needsPackages reports whether the model imports packages that have to be installed.
func (s starter) needsPackages() bool {
	text, _ := fs.ReadFile(starterFolder, "starter/"+s.name+"/requirements.txt") // files has read it
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// writeNew writes a file that is not there. A link of the folder to elsewhere is not followed.
func writeNew(folder *os.Root, name string, text []byte) error {
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
