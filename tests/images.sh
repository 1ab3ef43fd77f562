# shellcheck shell=bash
# What the tests of images need, which build.sh sources: programs that build and run images, and a base image. No registry
# is asked.

# shellcheck disable=SC2154 # build.sh and tests/pythons.sh set cache, kept and debian
readonly image_base=$kept/image-base-trixie.tar

# make_image_tools makes uv, a linter of Dockerfiles and podman-compose.
make_image_tools() { make_venv "$(choose_python)" "$cache/images" tests/requirements-images.txt; }

# make_image_base makes the root file system of a small Debian without Python, unless it is there. Only root can.
make_image_base() (
  [[ $(id -u) == 0 && -x /usr/bin/apt-get ]] || return 0
  for tool in debootstrap buildah podman crun; do
    command -v "$tool" >/dev/null || (install "$tool" "$tool") || return
  done
  mkdir -p "$kept"
  exec 9>"$kept/image-lock"
  flock 9
  [[ -f $image_base ]] && return
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  # The last argument is a script of debootstrap that exists on systems of any age.
  debootstrap --variant=minbase --include=ca-certificates trixie "$place/root" "$debian" sid &&
    tar -C "$place/root" --one-file-system -cf "$image_base.new" . && mv "$image_base.new" "$image_base"
)

## images           builds images with `pinion build`, and that of Dockerfile.cuda with deploy/compose.yaml, runs and asks
##                  them; needs root
cmd_images() {
  export PINION_TEST_FULL=1
  start_tests
  suite 10-build cmd_build
  suite 15-image-tools make_image_tools
  suite 15-image-base make_image_base
  images_suite
  end_tests
}

# images_suite builds and runs images. Where the base could not be made the test says so and is skipped.
images_suite() {
  local base=''
  [[ ! -f $image_base ]] || base=$image_base
  go_suite 65-images PINION_BIN="$PWD/bin/pinion" PINION_TEST_PYTHONS="$(joined "${venvs[@]}")" PINION_TEST_IMAGE_BASE="$base" \
    -count=1 -timeout 40m ./tests/images
}
