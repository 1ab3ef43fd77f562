# shellcheck shell=bash
# What tests need beside an interpreter, in .cache, which build.sh sources.

# shellcheck disable=SC2154 # build.sh and tests/pythons.sh set cache and venvs
# make_tools makes what some tests of the whole need beside an interpreter. Tests whose tool cannot be had are skipped.
make_tools() {
  local python
  python=$(choose_python)
  make_models
  make_venv "$python" examples/ocr/.venv examples/ocr/requirements.txt || true # for the demo
  make_venv "$python" "$cache/venvs/telemetry" tests/requirements-telemetry.txt || true
  make_venv "$python" "$cache/venvs/libraries" tests/requirements-libraries.txt || true
  make_venv "$python" "$cache/venvs/protocols" tests/requirements-protocols.txt || true
  make_venv "$python" "$cache/venvs/mcp1" tests/requirements-mcp1.txt || true
  unpack nginx usr/sbin/nginx || true
  unpack haproxy usr/sbin/haproxy || true
  unpack prometheus usr/bin/promtool || true
  make_image_tools || true
  make_venv "${venvs[0]}/bin/python" "$cache/venvs/ventu" examples/ventu/requirements.txt || true # wants an old Python
  full || return 0
  { command -v zsh && command -v fish; } >/dev/null || (install "a shell to type in" zsh fish) || true
  make_collector || true
  make_kubernetes || true
  make_venv "$python" "$cache/venvs/clients" tests/requirements-clients.txt || true
  make_npm clients || true
  make_npm browser || true
  make_venv "$python" "$cache/venvs/libraries-full" tests/requirements-libraries-full.txt || true
  make_venv "$python" "$cache/venvs/sklearn" cmd/pinion/internal/cli/starter/sklearn/requirements.txt || true
  make_venv "$python" "$cache/venvs/cog" tests/requirements-cog.txt || true
  make_venv "$python" "$cache/venvs/protocols-full" tests/requirements-protocols-full.txt || true
  make_venv "$python" "$cache/venvs/mcp-agents" tests/requirements-mcp-agents.txt || true
  make_venv "$python" "$cache/venvs/mcp1-agents" tests/requirements-mcp1-agents.txt || true
  make_venv "$python" "$cache/venvs/schemathesis" tests/requirements-schemathesis.txt || true
  make_oip_document "$python" || true
  make_venv "${venvs[0]}/bin/python" "$cache/venvs/triton" tests/requirements-triton.txt || true # wants an old Python
  make_venv "$python" "$cache/venvs/playwright" tests/requirements-browser.txt || true
  make_chromium || true
  make_torch || true
  suite 15-image-base make_image_base
}

# make_npm installs the packages of a folder of tests/.
make_npm() {
  local name=$1 folder=$cache/$1 made_from
  command -v npm >/dev/null || return 0
  made_from=$(sha256sum "tests/$name/package-lock.json")
  [[ $(cat "$folder/.made-from" 2>/dev/null) != "$made_from" ]] || return 0
  mkdir -p "$folder"
  cp "tests/$name/package.json" "tests/$name/package-lock.json" "$folder"
  quietly npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts && echo "$made_from" >"$folder/.made-from"
}

# make_chromium installs a browser for the tests of the server's pages.
make_chromium() {
  local candidate
  for candidate in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$candidate" && return
  done
  (install "a browser" chromium-headless-shell)
}

# unpack PACKAGE FILE unpacks a Debian package into the cache, where the system does not have its program: installing it would
# start a server. The libraries that the program needs are installed.
unpack() {
  local package=$1 program=$cache/$1/$2 libraries
  if command -v "${2##*/}" || [[ -x /$2 ]]; then return; fi
  if [[ ! -x $program ]]; then
    say "${2##*/} is missing: unpacking Debian's package $package into $cache/$package"
    mkdir -p "$cache/$package"
    (cd "$cache/$package" && { quietly apt-get download "$package" || { quietly apt-get update && quietly apt-get download "$package"; }; } &&
      dpkg -x "$package"_*.deb .) || return
  fi
  ldd "$program" 2>/dev/null | grep -q 'not found' || return 0
  mapfile -t libraries < <(apt-cache depends "$package" | sed -n 's/^ *Depends: \(lib[^ ]*\)$/\1/p' |
    while read -r library; do dpkg -s "$library" >/dev/null 2>&1 || echo "$library"; done)
  (install "a library of $package" "${libraries[@]}")
}

# make_torch unpacks Debian's PyTorch for the system's Python, with all that it needs and the system lacks: 150 MB to download,
# 620 MB. It is for the CPU; that of PyPI brings CUDA.
make_torch() {
  local to=$cache/torch package packages
  [[ ! -d $to ]] || return 0
  rm -rf "$to.new" && mkdir -p "$to.new/packages" || return
  quietly apt-get update || true # without root, the lists that are there are used
  mapfile -t packages < <(apt-get install --reinstall --no-install-recommends --yes --print-uris python3-torch |
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p")
  [[ ${#packages[@]} -gt 0 ]] || return
  (cd "$to.new/packages" && quietly apt-get download "${packages[@]}") || return
  for package in "$to.new"/packages/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$to.new" --exclude=./usr/share || return
  done
  rm -rf "$to.new/packages" && mv "$to.new" "$to"
}

readonly keda=2.21.0
readonly prometheus_operator=github.com/prometheus-operator/prometheus-operator@v0.85.0

# module_folder MODULE@VERSION prints where Go keeps a module, and downloads it.
module_folder() { (cd / && go mod download -json "$1") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'; }

# make_kubernetes builds a checker of manifests, and takes the schemas of KEDA's and the Prometheus Operator's objects from their modules.
make_kubernetes() {
  local to=$cache/kubernetes scaling monitoring
  [[ ! -x $to/kubectl-validate ]] || return 0
  scaling=$(module_folder "github.com/kedacore/keda/v2@v$keda") || return
  monitoring=$(module_folder "$prometheus_operator") || return
  mkdir -p "$to/crds"
  install -m 644 "$scaling/config/crd/bases/keda.sh_scaledobjects.yaml" "$monitoring"/example/prometheus-operator-crd/*_{podmonitors,prometheusrules}.yaml "$to/crds"
  GOBIN=$(realpath "$to") quietly go install sigs.k8s.io/kubectl-validate@v0.0.4
}

# make_oip_document PYTHON takes the Open Inference Protocol's OpenAPI document out of a package, without what that needs.
make_oip_document() {
  local to=$cache/oip requirements=tests/requirements-oip.txt
  ! cmp -s "$requirements" "$to/.made-from" || return 0
  need_uv "$1" && rm -rf "$to" &&
    quietly "$cache/uv/bin/uv" pip install --no-config --no-deps --python "$1" --target "$to" --requirement "$requirements" &&
    cp "$requirements" "$to/.made-from"
}

# make_collector builds an OpenTelemetry collector, which takes minutes the first time.
make_collector() { (cd tests/collector && quietly go build -o "$cache/collector/collector" .); }

# has_valgrind reports whether valgrind and its header, by which the code marks what to count, are installed.
has_valgrind() { command -v valgrind >/dev/null && [[ -f /usr/include/valgrind/callgrind.h ]]; }
