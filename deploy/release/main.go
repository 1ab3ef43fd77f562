package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// options are the flags. All of them are needed.
type options struct {
	out      string
	binaries map[string]string // the binary of each architecture, by Go's name
	version  version
	commit   string
	glibc    string // the oldest GNU C library that the binaries may need
	zig      string // the folder of the package ziglang, for its licences
	time     time.Time
	url      string // where the files will be published; "" means nowhere that is known
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = release(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("out", "dist", "the folder to make the files in")
	text := flags.String("version", "", "the version, as git describe prints it, without the v")
	commit := flags.String("commit", "", "the commit")
	glibc := flags.String("glibc", "", "the oldest GNU C library that the binaries run with")
	zig := flags.String("zig", "", "the folder of the Python package ziglang")
	url := flags.String("url", "", "where the files will be published, for install.sh and the formula of Homebrew")
	seconds := flags.Int64("time", 0, "the time of each packed file, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if *text == "" || *commit == "" || *glibc == "" || *zig == "" || flags.NArg() == 0 {
		return options{}, fmt.Errorf("usage: release -version V -commit C -glibc V -zig DIR -time SECONDS ARCH=BINARY...")
	}
	o := options{
		out: *out, binaries: map[string]string{}, commit: *commit, glibc: *glibc, zig: *zig,
		time: time.Unix(*seconds, 0).UTC(), url: strings.TrimSuffix(*url, "/"),
	}
	var err error
	if o.version, err = parseVersion(*text, *commit); err != nil {
		return options{}, err
	}
	for _, arg := range flags.Args() {
		arch, path, ok := strings.Cut(arg, "=")
		if !ok || architectures[arch].wheel == "" {
			return options{}, fmt.Errorf("invalid argument %q: must be ARCH=BINARY, where ARCH is amd64 or arm64", arg)
		}
		o.binaries[arch] = path
	}
	return o, nil
}

// natsProgram is the binary that lies beside each of the others; it is linked statically.
const natsProgram = "pinion-nats"

// architectures has each supported processor by Go's name, with its names elsewhere.
var architectures = map[string]struct{ wheel string }{
	"amd64": {"x86_64"},
	"arm64": {"aarch64"},
}

// wheelTag is the platform of a wheel, as PEP 600 writes it.
func wheelTag(glibc, arch string) string {
	return "manylinux_" + strings.ReplaceAll(glibc, ".", "_") + "_" + architectures[arch].wheel
}

func release(o options) error {
	if err := os.RemoveAll(o.out); err != nil {
		return fmt.Errorf("empty output folder: %w", err)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("make output folder: %w", err)
	}
	var components []component
	linked := map[string][]component{}
	for _, arch := range sortedKeys(o.binaries) {
		found, err := modules(arch)
		if err != nil {
			return err
		}
		linked[arch] = found
		components = append(components, found...)
	}
	tools, err := toolchain(o.zig, o.glibc)
	if err != nil {
		return err
	}
	notices, err := writeNotices(append(components, tools...))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "NOTICES.txt"), notices, 0o644); err != nil {
		return fmt.Errorf("write notices: %w", err)
	}
	for _, arch := range sortedKeys(o.binaries) {
		if err := releaseOne(o, arch, notices, append(linked[arch], tools...)); err != nil {
			return fmt.Errorf("release for %s: %w", arch, err)
		}
	}
	if err := writeInstallers(o); err != nil {
		return fmt.Errorf("write installers: %w", err)
	}
	return writeSums(o.out)
}

func releaseOne(o options, arch string, notices []byte, parts []component) error {
	if err := checkGlibc(o.binaries[arch], o.glibc); err != nil {
		return err
	}
	binary, err := os.ReadFile(o.binaries[arch])
	if err != nil {
		return err
	}
	nats, err := os.ReadFile(filepath.Join(filepath.Dir(o.binaries[arch]), natsProgram))
	if err != nil {
		return err
	}
	sbom, err := writeSBOM(o, arch, map[string][]byte{"pinion": binary, natsProgram: nats}, parts)
	if err != nil {
		return err
	}
	name := stem(o, arch)
	if err := os.WriteFile(filepath.Join(o.out, name+".cdx.json"), sbom, 0o644); err != nil {
		return fmt.Errorf("write SBOM: %w", err)
	}
	files, err := contents(o, []file{
		{"pinion", binary, 0o755},
		{natsProgram, nats, 0o755},
		{"NOTICES.txt", notices, 0o644},
		{"pinion.cdx.json", sbom, 0o644},
	})
	if err != nil {
		return err
	}
	tag := wheelTag(o.glibc, arch)
	var tarball, wheel bytes.Buffer
	if err := writeTarball(&tarball, name, files, o.time); err != nil {
		return fmt.Errorf("write tarball: %w", err)
	}
	if err := writeWheel(&wheel, o.version.pep440(), tag, files, o.time); err != nil {
		return fmt.Errorf("write wheel: %w", err)
	}
	for path, content := range map[string][]byte{
		tarballName(o, arch):               tarball.Bytes(),
		wheelName(o.version.pep440(), tag): wheel.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(o.out, path), content, 0o644); err != nil {
			return err
		}
	}
	return writeDeb(o, arch, filepath.Join(o.out, name+".deb"), files)
}

// contents are the files of the tarball and of the Debian package: those that were made, and what goes with them.
func contents(o options, files []file) ([]file, error) {
	shells, err := completions(o)
	if err != nil {
		return nil, err
	}
	pages, err := manPages(o)
	if err != nil {
		return nil, err
	}
	files = append(append(files, shells...), pages...)
	for name, from := range map[string]string{
		"LICENSE": "LICENSE", "CHANGELOG.md": "CHANGELOG.md", "pinion.service": "deploy/systemd/pinion.service",
		"examples/hello/cog.yaml": "examples/hello/cog.yaml", "examples/hello/run.py": "examples/hello/run.py",
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, content, 0o644})
	}
	return files, nil
}

// seconds is a time as SOURCE_DATE_EPOCH has it.
func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
