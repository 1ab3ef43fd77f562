package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"

// writeDeb has nfpm make the package that deploy/release/nfpm.yaml describes. PINION_MAINTAINER, "NAME <ADDRESS>", is
// who publishes it and answers for it.
func writeDeb(o options, arch, path string, files []file) error {
	place, err := os.MkdirTemp("", "pinion-deb-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(place)
	for _, f := range files {
		if f.name == "pinion.service" {
			f.content = packagedUnit(f.content)
		}
		to := filepath.Join(place, f.name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.content, 0o644); err != nil {
			return err
		}
	}
	config, err := filepath.Abs("deploy/release/nfpm.yaml")
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	cmd := exec.Command("go", "run", nfpm, "package", "--packager", "deb", "--config", config, "--target", path)
	cmd.Env = append(os.Environ(), "ARCH="+arch, "MAINTAINER="+cmp.Or(os.Getenv("PINION_MAINTAINER"), "Pinion authors"),
		"VERSION="+o.version.debian(), "GLIBC="+o.glibc, "FILES="+place,
		"SOURCE_DATE_EPOCH="+seconds(o.time))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make Debian package: %w\n%s", err, out)
	}
	return nil
}
