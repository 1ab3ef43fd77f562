package starter

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/terminal"
)

//go:embed files
var starter embed.FS

// files are the files of a new model, by the name that each has there.
func files() [][2]string {
	return [][2]string{
		{model.CogFile, "cog.yaml"},
		{"run.py", "run.py"},
		{"requirements.txt", "requirements.txt"},
		{".dockerignore", "dockerignore"},
	}
}

// Write writes the files of a new model to a folder. It writes none if one of them, or a predictor by
// another name, is there. to is told which.
func Write(dir string, to io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder %s: %w", dir, err)
	}
	for _, name := range []string{model.CogFile, "run.py", "predict.py"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s has a %s already, and nothing is overwritten; choose another folder", dir, name)
		}
	}
	for _, file := range files() {
		text, err := fs.ReadFile(starter, "files/"+file[1])
		if err != nil {
			return fmt.Errorf("read starting project: %w", err)
		}
		name := filepath.Join(dir, file[0])
		switch err := writeNew(name, text); {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(to, "kept  %s\n", name)
		case err != nil:
			return fmt.Errorf("write starting project: %w", err)
		default:
			fmt.Fprintf(to, "wrote %s\n", name)
		}
	}
	where := ""
	if dir != "." {
		where = " " + terminal.ShellWord(dir)
	}
	fmt.Fprintf(to, "\nNext:\n  pinion predict%s -i name=Ada\n  pinion serve%s\n", where, where)
	return nil
}

func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
