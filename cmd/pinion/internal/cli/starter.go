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

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/terminal"
)

//go:embed starter
var starterFolder embed.FS

// starterFile is a file of a new model.
type starterFile struct {
	name string
	text []byte
}

// starterFiles are the files of a new model.
func starterFiles() ([]starterFile, error) {
	var all []starterFile
	for _, f := range [][2]string{
		{model.CogFile, "cog.yaml"},
		{"run.py", "run.py"},
		{"requirements.txt", "requirements.txt"},
		{".dockerignore", "dockerignore"},
		{".vscode/settings.json", "settings.json"},
	} {
		text, err := fs.ReadFile(starterFolder, "starter/"+f[1])
		if err != nil {
			return nil, err
		}
		all = append(all, starterFile{f[0], text})
	}
	schema, err := json.MarshalIndent(model.CogSchema(), "", "  ")
	return append(all, starterFile{".vscode/cog.schema.json", append(schema, '\n')}), err
}

// writeStarter writes the files of a new model to a folder. It writes none if one of them, or a predictor by
// another name, is there. to is told which.
func writeStarter(dir string, to io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder %s: %w", dir, err)
	}
	for _, name := range []string{model.CogFile, "run.py", "predict.py"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s has a %s already, and nothing is overwritten; choose another folder", dir, name)
		}
	}
	files, err := starterFiles()
	if err != nil {
		return fmt.Errorf("read starting project: %w", err)
	}
	for _, file := range files {
		name := filepath.Join(dir, file.name)
		switch err := writeNew(name, file.text); {
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
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
