package image

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
)

// uvImage has uv, which installs Python and packages; the model's image does not keep it.
const uvImage = "ghcr.io/astral-sh/uv:0.13.9"

// userID is the user that the server runs as; a number, since Kubernetes' runAsNonRoot wants one.
const userID = "10001:10001"

// uvMounts are for the steps that use uv. Its cache stays with the builder and out of the image. No cache has
// sharing=locked: buildah 1.28 keeps the lock to the end of the build, and the next step that asks for it never begins.
const uvMounts = "--mount=type=bind,from=uv,source=/,target=/run/uv --mount=type=cache,target=/root/.cache/uv " +
	"--mount=type=secret,id=uv.toml,target=/root/.config/uv/uv.toml"

func (p *Plan) Text() string {
	w := &writer{}
	p.head(w)
	p.systemPackages(w)
	p.installPython(w)
	p.environment(w)
	p.commands(w, "Commands before the packages.", p.build.PreInstall)
	p.packages(w)
	p.commands(w, "Commands after the packages.", p.build.Run)
	w.lines("", "# The server.", "COPY --from=pinion /usr/local/bin/pinion* /usr/local/bin/")
	p.code(w)
	p.final(w)
	p.labels(w)
	w.lines(
		"EXPOSE 5000",
		"# Healthy is a model that is set up.",
		"HEALTHCHECK --interval=15s --timeout=10s --start-period=10m --retries=3 CMD "+
			execForm("python3", "-I", "-S", "-c", healthProbe),
		"# pinion is process 1: it reaps orphans, and drains on the SIGTERM of `docker stop`; give that its time (-t 45).",
		`ENTRYPOINT ["pinion"]`,
		`CMD ["serve"]`,
	)
	return w.String()
}

// WriteFiles writes the Dockerfile and its ignore file, which docker finds by its name.
func (p *Plan) WriteFiles(file string) error {
	err := usertext.WriteFiles(filepath.Dir(file), map[string][]byte{
		filepath.Base(file): []byte(p.Text()), filepath.Base(file) + ".dockerignore": []byte(p.Ignore()),
	})
	if err != nil {
		return fmt.Errorf("write Dockerfile: %w", err)
	}
	return nil
}

// healthProbe is in Python, which every image has.
const healthProbe = `import json, os, urllib.request as r
e = os.environ
port = e.get('SAGEMAKER_BIND_TO_PORT') or e.get('AIP_HTTP_PORT') or e['PORT']
tls = __import__('ssl')._create_unverified_context() if e.get('PINION_TLS_CERT') else None
url = ('https' if tls else 'http') + '://127.0.0.1:' + port + '/health-check'
raise SystemExit(json.load(r.urlopen(url, timeout=8, context=tls))['status'] not in ('READY', 'BUSY'))`

type writer struct{ strings.Builder }

func (w *writer) lines(lines ...string) {
	for _, line := range lines {
		w.WriteString(line + "\n")
	}
}

// run writes a RUN of shell commands, which ends with the first that fails.
func (w *writer) run(mounts string, commands ...string) {
	if mounts != "" {
		mounts = " " + strings.ReplaceAll(mounts, " --mount", " \\\n    --mount") + " \\\n   "
	}
	w.lines("RUN" + mounts + " set -eu; \\\n    " + strings.Join(commands, " \\\n    "))
}

func (p *Plan) head(w *writer) {
	contexts := "--build-context pinion=DIR"
	if p.LocalWeights() {
		contexts += " --build-context weights=."
	}
	w.lines(
		"# Made by pinion "+p.Version+
			" from cog.yaml; `pinion dockerfile` makes it anew. `pinion build` builds it, and so does",
		"#     docker build "+contexts+" .",
		"# DIR holds usr/local/bin/pinion and pinion-nats; without that option the server comes from an image with the name pinion.",
		"",
		"# The base: "+p.base.why+".",
		"ARG BASE="+p.base.image,
		"ARG UV="+uvImage,
		"",
		"FROM ${UV} AS uv",
		"",
		"FROM ${BASE} AS packages",
	)
}

func (p *Plan) installPython(w *writer) {
	minor := strings.Join(strings.Split(p.python, ".")[:2], ".")
	seed := ""
	if p.wantsPip() {
		seed = " --seed"
	}
	w.lines("", "# Python "+p.python+
		" of the base, else of its distribution, else uv's: never compiled. The virtual environment also sees the",
		"# packages of the base. The user has a name, which getpass and PyTorch's caches ask for.")
	w.run(uvMounts,
		"export DEBIAN_FRONTEND=noninteractive UV_PYTHON_INSTALL_DIR=/opt/python;",
		"python=$(command -v python"+minor+" || true);",
		`if [ -z "$python" ] || [ "$python" = /usr/bin/python`+minor+" ]; then",
		"    apt-get update;",
		"    if apt-cache show libpython"+minor+" >/dev/null 2>&1; then",
		"        apt-get install -y --no-install-recommends ca-certificates python"+minor+" libpython"+minor+";",
		"    fi;",
		"    rm -rf /var/lib/apt/lists/*;",
		"fi;",
		"/run/uv/uv venv --python "+p.python+" --system-site-packages"+seed+" /opt/venv;",
		"useradd --uid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin pinion;",
		"install -d -o pinion -g pinion /src",
	)
}

var pipCommand = pattern(`\bpip3?\b`)

func (p *Plan) wantsPip() bool {
	return slices.ContainsFunc(slices.Concat(p.build.PreInstall, p.build.Run),
		func(s model.Step) bool { return pipCommand().MatchString(s.Command) })
}

func (p *Plan) environment(w *writer) {
	w.lines("", "ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH")
	if p.build.GPU {
		w.lines("# What `docker run --gpus all` gives to the container.",
			"ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility,video")
	}
	for _, entry := range p.build.Environment {
		name, value, _ := strings.Cut(entry.Value, "=")
		w.lines("ENV " + name + "=" + doubleQuote(value))
	}
}

// commands writes steps of cog.yaml. They run as root in /, without the code.
func (p *Plan) commands(w *writer, title string, steps []model.Step) {
	if len(steps) == 0 {
		return
	}
	w.lines("", "# "+title)
	for _, step := range steps {
		line := "RUN "
		for _, m := range step.Mounts {
			line += "--mount=type=" + m.Type
			if m.ID != "" {
				line += ",id=" + m.ID
			}
			line += ",target=" + m.Target
			if m.Type == "secret" {
				line += ",required=true"
			}
			line += " "
		}
		flags, text := cutFlags(step.Command)
		w.lines(line + flags + command(text))
	}
}

// runFlags are flags of RUN that a step begins with, as Cog's users write them.
var runFlags = pattern(`^(?:--(?:mount|network|security|device)=(?:[^\s"'\\]|"[^"]*"|'[^']*')+(?:\s|\\\n)+)+`)

// cutFlags returns the flags of RUN before a command, on one line with a space behind each, and the command.
func cutFlags(text string) (flags, command string) {
	flags = runFlags().FindString(text)
	for _, word := range strings.Fields(strings.ReplaceAll(flags, "\\\n", " ")) {
		command += word + " "
	}
	return command, text[len(flags):]
}

// command returns a command for the shell. One of several lines stands as a word of JSON, which keeps the lines; so
// does one with <<, after which a builder would take the lines that follow for a document.
func command(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "<<") || strings.HasPrefix(text, "[") ||
		strings.HasSuffix(text, `\`) {
		return execForm("/bin/sh", "-ec", text)
	}
	return text
}

func (p *Plan) packages(w *writer) {
	if len(p.requirements) == 0 && len(p.build.Packages) == 0 {
		return
	}
	w.lines("", "# Packages. Only what names them is copied, so no other change installs them anew.")
	for _, place := range p.requirements {
		w.lines(copyLine("", place, path.Join(requirementsDir, place)))
	}
	install := "/run/uv/uv pip install --link-mode copy --compile-bytecode"
	if file := p.build.Requirements.Value; file != "" {
		install += " --requirement " + shellQuote(file)
	}
	dir := path.Join(requirementsDir, p.below)
	commands := []string{"mkdir -p " + shellQuote(dir) + ";", "cd " + shellQuote(dir) + ";"}
	if len(p.build.Packages) > 0 {
		lines := "printf '%s\\n'"
		for _, line := range p.build.Packages {
			lines += " " + shellQuote(line.Value)
		}
		commands = append(commands, lines+" >cog.yaml.txt;")
		install += " --requirement cog.yaml.txt"
	}
	w.run(uvMounts, append(commands, install+p.indexes())...)
}

var (
	extraIndex = pattern(`^--extra-index-url\b`)
	findLinks  = pattern(`^(-f|--find-links|--index-url|-i)\b`)
	torch      = pattern(`(?i)^(torch|torchvision|torchaudio)\s*([=<>~!;@[]|$)`)
	torchLocal = pattern(`(?i)^torch(vision|audio)?\b.*(\+|@)`)
)

// indexes returns the options for where packages come from.
func (p *Plan) indexes() (options string) {
	for _, url := range p.build.ExtraIndexURLs {
		options += " --extra-index-url " + shellQuote(url.Value)
	}
	for _, link := range p.build.FindLinks {
		options += " --find-links " + shellQuote(link.Value)
	}
	extra := len(p.build.ExtraIndexURLs) > 0 || p.hasPackage(extraIndex())
	if extra { // as pip does
		options += " --index-strategy unsafe-best-match"
	}
	// PyPI's PyTorch has CUDA's libraries, 4 GB that a machine without a GPU does not need.
	own := extra || len(p.build.FindLinks) > 0 || p.hasPackage(findLinks()) || p.hasPackage(torchLocal())
	if !p.build.GPU && !own && p.hasPackage(torch()) {
		options += " --torch-backend cpu"
	}
	return options
}

// code writes the stage that has the model's files and the document that is made of them.
func (p *Plan) code(w *writer) {
	w.lines("", "FROM packages AS code", "WORKDIR "+word(p.folder()), "COPY . /src")
	if !p.MakeSchema {
		return
	}
	w.lines("# The OpenAPI document, from the source alone: the server starts faster with it.")
	command := "pinion schema --static"
	if p.Ref != "" {
		command += " --predictor " + shellQuote(p.Ref)
	}
	w.run("", "mkdir -p .cog;", command+" >/tmp/openapi_schema.json;", "mv /tmp/openapi_schema.json .cog/")
}

// final writes the image itself: the code is its last layer.
func (p *Plan) final(w *writer) {
	w.lines("", "FROM packages")
	p.copyWeights(w)
	w.lines(
		"# Only /tmp is written to by the server, so `docker run --read-only --tmpfs /tmp` works.",
		"ENV HOME=/tmp PORT=5000 PINION_HOST=0.0.0.0",
	)
	if p.Ref != "" {
		w.lines("ENV COG_PREDICT_TYPE_STUB=" + literal(p.Ref))
	}
	w.lines("WORKDIR "+word(p.folder()), "USER "+userID, "COPY --from=code --chown="+userID+" /src /src")
}

// execForm returns the form of a command that no shell reads.
func execForm(words ...string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(words) // strings and a strings.Builder: no error
	return strings.ReplaceAll(strings.TrimSpace(out.String()), `","`, `", "`)
}

var plainWord = pattern(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellQuote returns a word for the shell.
func shellQuote(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// word returns a word of an instruction that expands variables.
func word(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return literal(text)
}

// copyLine copies one file or folder. The builder is to expand no pattern and no variable in names: they are escaped.
func copyLine(options, from, to string) string {
	from = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`, `$`, `\$`).Replace(from)
	to = strings.NewReplacer(`\`, `\\`, `$`, `\$`).Replace(to)
	if !plainWord().MatchString(from + to) {
		return "COPY " + options + execForm(from, to)
	}
	return fmt.Sprintf("COPY %s%s %s", options, from, to)
}
