# shellcheck shell=bash
# The commands of build.sh that make what is published, which sources this file.

# shellcheck disable=SC2154 # build.sh sets cache
readonly release_go=go1.26.8 # compiles releases: another Go makes other bytes
readonly release_glibc=2.28  # the oldest GNU C library that they run with; deploy/release checks it

# The linker's flags of a release. There is no build id, which depends on the path of the C compiler.
readonly release_ldflags='-s -w -buildid= -extldflags=-Wl,--strip-all'

# release_binary ARCH compiles the command for a processor. The C compiler is zig, the same version on every machine. There is no
# debug information: it has the path of zig's headers.
release_binary() {
  local processor=x86_64
  [[ $1 == amd64 ]] || processor=aarch64
  GOARCH=$1 CGO_CFLAGS='-O2 -g0' CC="'$cache/zig/bin/python' -m ziglang cc -target $processor-linux-gnu.$release_glibc" \
    go_build "$cache/release/$1/pinion" -ldflags "$(stamp) $release_ldflags"
}

## release          dist/: a tarball, a Debian package and a wheel for amd64 and arm64, with checksums, SBOMs and licences. --publish TAG
##                  signs the checksums and makes the tag's release at GitHub; with PUBLISH_PYPI=yes PyPI gets the wheels
cmd_release() {
  need_go
  local tag=''
  if [[ ${1:-} == --publish ]]; then
    tag=${2:?name the tag}
    needs_publishers
  fi
  export GOTOOLCHAIN=$release_go
  local changed
  changed=$(git status --porcelain -- . ':!greeter') # the model of the tutorial
  [[ -z $changed ]] || die "a release is made from a commit, and these are not committed:
$changed"
  local python version zig
  python=$(choose_python)
  make_venv "$python" "$cache/zig" deploy/release/requirements.txt
  zig=$("$cache/zig/bin/python" -c 'import ziglang; print(*ziglang.__path__)')
  steadily "compiling for amd64" release_binary amd64
  steadily "compiling for arm64" release_binary arm64
  read -r _ version _ <<<"$(stamp)"
  steadily "packing dist" go run ./deploy/release -out dist -zig "$zig" -glibc "$release_glibc" \
    -version "${version#*=}" -commit "$(git rev-parse --short=12 HEAD)" \
    -time "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -url "${PINION_RELEASE_URL:-}" \
    amd64="$cache/release/amd64/pinion" arm64="$cache/release/arm64/pinion"
  ls -l dist
  [[ -z $tag ]] || publish_release "$tag"
}

# needs_publishers ends with an error if something is missing to publish, before anything is built.
needs_publishers() {
  local tool tools=(cosign gh)
  [[ ${PUBLISH_PYPI:-} != yes ]] || tools+=(uv)
  for tool in "${tools[@]}"; do
    command -v "$tool" >/dev/null || die "to publish a release, install $tool"
  done
}

# publish_release TAG publishes dist/. The signature of the checksums is that of all files.
publish_release() {
  cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS
  gh release create "$1" --verify-tag --generate-notes dist/*
  if [[ ${PUBLISH_PYPI:-} == yes ]]; then
    uv publish --trusted-publishing always dist/*.whl
  fi
}

## release-images   REGISTRY [--push]: the image `pinion`, and base images of each Python without CUDA, with CUDA 12 and 13; with
##                  --push for amd64 and arm64
cmd_release-images() {
  local registry=${1:?name the registry, as ghcr.io/OWNER} push=${2:-} version kind python base
  read -r _ version _ <<<"$(stamp)"
  version=${version#*=}
  release_image "$registry/pinion:$version" "$push" -f Dockerfile.cuda --build-arg BASE=debian:trixie-slim
  for kind in "${!image_bases[@]}"; do
    base=${image_bases[$kind]}
    for python in $image_pythons; do
      release_image "$registry/pinion-base:$kind-python$python" "$push" -f deploy/images/Dockerfile.base \
        --build-arg BASE="$base" --build-arg PYTHON="$python"
    done
  done
}
readonly image_pythons='3.10 3.11 3.12 3.13 3.14 3.15'
declare -rA image_bases=(
  [cpu]=debian:trixie-slim
  [cuda12]=nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04
  [cuda13]=nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04
)

# release_image NAME PUSH ARGUMENT... builds an image, by docker's buildx if it is to be pushed for both processors.
release_image() {
  local name=$1 push=$2
  shift 2
  say "image $name"
  if [[ $push == --push ]]; then
    docker buildx build --platform linux/amd64,linux/arm64 --push --provenance=true --sbom=true -t "$name" "$@" .
  else
    "${PINION_BUILDER:-docker}" build -t "$name" "$@" .
  fi
}

## site             the documents as a site, in site/; it fails at a link that leads nowhere. --publish VERSION puts it beside those of
##                  other versions, in the branch gh-pages
cmd_site() {
  make_venv "$(choose_python)" "$cache/site" deploy/site/requirements.txt
  if [[ ${1:-} == --publish ]]; then
    publish_site "${2:?name the version}"
    return
  fi
  NO_MKDOCS_2_WARNING=1 steadily "writing the site" "$cache/site/bin/mkdocs" build --quiet --strict --config-file deploy/site/mkdocs.yml --site-dir "${1:-$PWD/site}"
}

# publish_site VERSION pushes the site of a version. A release, but no candidate, also becomes `latest`, to which the site's root
# leads. mike calls mkdocs. Its commits have the committer of the last one here, because git may have no identity configured.
publish_site() {
  local mike to=(--config-file deploy/site/mkdocs.yml --push)
  mike=(env PATH="$cache/site/bin:$PATH" NO_MKDOCS_2_WARNING=1 GIT_COMMITTER_NAME="$(git log -1 --format=%cn)"
    GIT_COMMITTER_EMAIL="$(git log -1 --format=%ce)" mike)
  if [[ $1 == *-* ]]; then
    "${mike[@]}" deploy "${to[@]}" "$1"
  else
    "${mike[@]}" deploy "${to[@]}" --update-aliases "$1" latest && "${mike[@]}" set-default "${to[@]}" latest
  fi
}

## repeatable       builds twice as a release, from different folders with empty caches and other paths of the compiler, and compares
cmd_repeatable() {
  need_go
  need_cc
  local copy sums=()
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  for copy in one another/folder; do
    mkdir -p "$place/$copy"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$place/$copy"
    cp -r .git "$place/$copy"
    ln -s "$(command -v "${CC:-gcc}")" "$place/$copy/gcc"
    (cd "$place/$copy" && GOCACHE=$place/$copy/.cache CC=$place/$copy/gcc go_build bin/pinion -ldflags "$(stamp) $release_ldflags")
    sums+=("$(cat "$place/$copy/bin/pinion" "$place/$copy/bin/pinion-nats" | sha256sum)")
  done
  [[ ${sums[0]} == "${sums[1]}" ]] || die "two builds of the same source differ: ${sums[*]}"
  echo "two builds of the same source are the same files, SHA-256 ${sums[0]%% *}"
}
