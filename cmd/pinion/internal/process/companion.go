package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// NATS is the program that --nats embed starts.
const NATS = "pinion-nats"

// Companion returns the path of a program that is installed together with this binary: beside it, else in the PATH.
func Companion(name string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	sibling, err := exec.LookPath(filepath.Join(filepath.Dir(own), name))
	if err == nil {
		return sibling, nil
	}
	path, lookErr := exec.LookPath(name)
	switch {
	case lookErr == nil:
		return path, nil
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("the program %s is neither in %s nor in the PATH: install it from the release of this binary",
			name, filepath.Dir(own))
	}
	return "", fmt.Errorf("find %s: %w", name, err)
}
