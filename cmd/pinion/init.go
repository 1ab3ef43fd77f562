package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usage"
)

//go:embed starter/cog.yaml starter/run.py starter/requirements.txt starter/dockerignore
var starter embed.FS

// starterFiles are the files of a new model, by the name that each has there.
func starterFiles() [][2]string {
	return [][2]string{
		{model.CogFile, "cog.yaml"}, {"run.py", "run.py"}, {"requirements.txt", "requirements.txt"}, {".dockerignore", "dockerignore"},
	}
}

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a new model's folder, which serves at once",
		Long: `Make a starting project in DIR (default: the current folder): cog.yaml, run.py, requirements.txt and
.dockerignore. What is there already is never overwritten.`,
		Args: usage.OneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			return failed(start(folderOf(args)))
		},
	}
}

// start writes the files of a new model to a folder. It writes none where one of them, or a predictor by
// another name, is there.
func start(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder %s: %w", dir, err)
	}
	for _, name := range []string{model.CogFile, "run.py", "predict.py"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s has a %s already, and nothing is overwritten; choose another folder", dir, name)
		}
	}
	for _, file := range starterFiles() {
		text, err := fs.ReadFile(starter, "starter/"+file[1])
		if err != nil {
			return fmt.Errorf("read starting project: %w", err)
		}
		name := filepath.Join(dir, file[0])
		switch err := writeNew(name, text); {
		case errors.Is(err, fs.ErrExist):
			fmt.Printf("kept  %s\n", name)
		case err != nil:
			return fmt.Errorf("write starting project: %w", err)
		default:
			fmt.Printf("wrote %s\n", name)
		}
	}
	where := ""
	if dir != "." {
		where = " " + shellWord(dir)
	}
	fmt.Printf("\nNext:\n  pinion predict%s -i name=Ada\n  pinion serve%s\n", where, where)
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// shellWord is a word as a shell reads it.
func shellWord(word string) string {
	for _, r := range word {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r) {
			return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return word
}
