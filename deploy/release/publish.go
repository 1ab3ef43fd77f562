package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// writeInstallers writes install.sh and the formula of Homebrew, for files that are published at o.url.
func writeInstallers(o options) error {
	if o.url == "" {
		return nil
	}
	home, _, _ := strings.Cut(o.url, "/releases/")
	fill := []string{"@VERSION@", o.version.String(), "@URL@", o.url, "@HOME@", home}
	for _, arch := range sortedKeys(o.binaries) {
		tarball, err := os.ReadFile(filepath.Join(o.out, tarballName(o, arch)))
		if err != nil {
			return err
		}
		fill = append(fill, "@SHA256_"+strings.ToUpper(arch)+"@", fmt.Sprintf("%x", sha256.Sum256(tarball)))
	}
	for _, from := range []string{"deploy/install/install.sh", "deploy/homebrew/pinion.rb"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		filled := strings.NewReplacer(fill...).Replace(string(text))
		if err := os.WriteFile(filepath.Join(o.out, filepath.Base(from)), []byte(filled), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func tarballName(o options, arch string) string { return stem(o, arch) + ".tar.gz" }

// stem is how the names of an architecture's files begin.
func stem(o options, arch string) string { return fmt.Sprintf("pinion_%s_linux_%s", o.version, arch) }

// completions are the files with which shells complete the command. The binary for this machine prints them.
func completions(o options) ([]file, error) {
	binary := o.binaries[runtime.GOARCH]
	if binary == "" {
		return nil, fmt.Errorf("no binary for %s, which prints the completions", runtime.GOARCH)
	}
	var files []file
	for shell, name := range map[string]string{"bash": "pinion.bash", "zsh": "_pinion", "fish": "pinion.fish"} {
		text, err := exec.Command(binary, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("print the completions for %s: %w", shell, err)
		}
		files = append(files, file{"completions/" + name, text, 0o644})
	}
	return files, nil
}

// manPages are the manual pages of all commands. The binary for this machine writes them.
func manPages(o options) ([]file, error) {
	dir, err := os.MkdirTemp("", "pinion-man-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if text, err := exec.Command(o.binaries[runtime.GOARCH], "man", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("write the manual pages: %w: %s", err, text)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{"man/" + e.Name(), text, 0o644})
	}
	return files, nil
}

// packagedUnit is the systemd unit as a package installs it.
func packagedUnit(unit []byte) []byte {
	return []byte(strings.ReplaceAll(string(unit), "/usr/local/bin/", "/usr/bin/"))
}
