# shellcheck shell=bash
# Installs what `./build.sh release` makes into empty systems, which build.sh sources.

# shellcheck disable=SC2154 # build.sh, tests/pythons.sh, tests/images.sh and tests/suites.sh set cache, kept, debian, image_base and results

## release-test     makes a release here and in a clone, compares them, checks the SBOMs, installs each file into an
##                  empty system of its processor, and serves examples/hello there; needs root
cmd_release-test() {
  need_test_tools
  rm -rf "$results"
  mkdir -p "$results"
  go build -o "$cache/report" ./tests/cmd/report
  suite 10-release cmd_release
  suite 11-release-again release_again
  suite 12-sbom check_sboms
  suite 15-emulate make_emulate
  suite 16-root-amd64 make_release_root amd64
  suite 16-root-arm64 make_release_root arm64
  suite 16-root-old make_old_root
  install_suite
  end_tests
}

# install_suite installs the files of dist.
install_suite() {
  go_suite 30-install PINION_TEST_FULL=1 PINION_BIN="$cache/release/amd64/pinion" PINION_TEST_DIST="$PWD/dist" \
    PINION_TEST_ROOTS="$kept/release" PINION_TEST_EMULATE="$cache/emulate" -count=1 ./tests/release
}

# release_again makes the release in a clone in another folder, with empty caches, and compares every byte.
release_again() (
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  git clone --quiet --no-local . "$place/another/folder"
  git -C "$place/another/folder" checkout --quiet --detach "$(git rev-parse HEAD)"
  (cd "$place/another/folder" && GOCACHE=$place/go ZIG_GLOBAL_CACHE_DIR=$place/zig ./build.sh release)
  diff -r "$place/another/folder/dist" dist || die "two releases of one commit differ"
  echo "two releases of one commit are the same files"
)

# check_sboms compares the SBOMs in dist with the schema of CycloneDX.
check_sboms() {
  make_venv "$(choose_python)" "$cache/venvs/sbom" tests/requirements-sbom.txt &&
    "$cache/venvs/sbom/bin/python" tests/release/sbom.py dist/*.cdx.json
}

# make_emulate builds the program that runs arm64 programs.
make_emulate() {
  [[ -x /usr/bin/qemu-aarch64-static || $(uname -m) == aarch64 ]] || (install "QEMU" qemu-user-static) || return
  go build -o "$cache/emulate" ./tests/cmd/emulate
}

# make_release_root ARCH makes the root file system of a small Debian without Python, unless it is there. Only root can. That of
# arm64 is configured by its own programs, which takes minutes.
make_release_root() (
  folder=$kept/release/$1
  [[ $(id -u) == 0 && -x /usr/bin/apt-get ]] || return 0
  command -v debootstrap >/dev/null || (install debootstrap debootstrap) || return
  mkdir -p "$kept/release"
  exec 9>"$kept/release/lock-$1"
  flock 9
  [[ -d $folder ]] && return
  rm -rf "$folder.new"
  # The last argument is a script of debootstrap that exists on systems of any age.
  debootstrap --foreign --arch="$1" --variant=minbase --include=ca-certificates trixie "$folder.new" "$debian" sid &&
    second_stage "$folder.new" && mv "$folder.new" "$folder"
)

# second_stage FOLDER configures the packages that debootstrap has unpacked there. In a user namespace it cannot make devices,
# which it leaves out in a container of this kind.
second_stage() {
  # shellcheck disable=SC2016 # the inner shell expands it
  unshare --mount --propagation private bash -c '
    for folder in proc sys dev; do mount --rbind "/$folder" "$1/$folder" || exit; done
    exec "$2" chroot "$1" env container=lxc /debootstrap/debootstrap --second-stage
  ' second_stage "$1" "$cache/emulate"
}

# make_old_root makes one of the oldest Debian whose packages can be had, for its C library.
make_old_root() (
  [[ $(id -u) == 0 && -x /usr/bin/apt-get ]] || return 0
  exec 9>"$kept/release/lock-old"
  flock 9
  [[ -d $kept/release/old ]] && return
  rm -rf "$kept/release/old.new"
  debootstrap --variant=minbase bullseye "$kept/release/old.new" "$debian" sid && mv "$kept/release/old.new" "$kept/release/old"
)
