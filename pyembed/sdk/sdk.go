package sdk

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The patterns name *.py: a bare folder would drop __init__.py and every _name.py, silently. METADATA is what
// importlib.metadata reads the version from.
//
//go:embed cog/*.py cog/py.typed cog/_worker/*.py cog/_worker/*/*.py cog/server/*.py coglet/*.py _px.pyi cog-0.23.1.dist-info/METADATA
var files embed.FS

// FS is the package's files.
func FS() fs.FS { return files }

// Write puts the packages into dir, which must exist.
func Write(dir string) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if entry.IsDir() {
			if err := os.MkdirAll(target, 0o700); err != nil {
				return fmt.Errorf("make folder of the cog package: %w", err)
			}
			return nil
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read embedded file: %w", err)
		}
		if err := os.WriteFile(target, data, 0o600); err != nil {
			return fmt.Errorf("write the cog package: %w", err)
		}
		return nil
	})
}
