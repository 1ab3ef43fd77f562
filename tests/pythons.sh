# shellcheck shell=bash
# The interpreters that the tests bring along, which build.sh sources: CPythons newer than this system's packages, and
# one without a GIL. Both are kept outside the checkout, so that a clean checkout need not make them again.
#
# The newer ones are Debian's packages, not compiled sources: users have these packages. They lie in a root file system
# to themselves, because they need a newer C library than this system may have, and so does a worker that loads their
# libpython. The tests of these Pythons run inside of it.

readonly kept=${PINION_TEST_KEPT:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion-tests}
readonly debian=http://deb.debian.org/debian
readonly newest_suite=forky
readonly newest_pythons='3.14 3.15'
readonly newest_root=$kept/debian-$newest_suite

# can_make_newest_root reports whether this is a user and a system that can make it and run commands in it.
can_make_newest_root() { [[ $(id -u) == 0 && ! -e /.pinion-newest-root && -x /usr/bin/apt-get && -x /usr/bin/unshare ]]; }

# make_newest_root makes the root file system with newest_pythons, a C compiler and git, unless it is there. Only root
# can: 90 seconds, 800 MB. It waits for another process that is at it.
make_newest_root() {
  local packages=gcc,libc6-dev,ca-certificates,curl,git,procps version
  mkdir -p "$kept"
  exec 9>"$kept/lock"
  flock 9
  [[ -d $newest_root ]] && return
  for version in $newest_pythons; do packages+=,python$version-venv,libpython$version; done
  command -v debootstrap >/dev/null || (install debootstrap debootstrap) || return
  rm -rf "$newest_root.new"
  # The last argument is a script of debootstrap that exists on systems of any age.
  debootstrap --variant=minbase --include="$packages" "$newest_suite" "$newest_root.new" "$debian" sid &&
    touch "$newest_root.new/.pinion-newest-root" && mv "$newest_root.new" "$newest_root"
}

# in_newest_root COMMAND... runs a command there, in this folder, which it sees as it is here: so are the home folder,
# the temporary folder and Go. The mounts are gone with the command.
in_newest_root() {
  local seen=("$PWD" "$HOME" "${TMPDIR:-/tmp}" "$(go env GOROOT)" "$(go env GOMODCACHE)" "$(go env GOCACHE)")
  # shellcheck disable=SC2016 # the inner shell expands it
  unshare --mount --propagation private bash -c '
    set -euo pipefail
    root=$1 count=$2
    shift 2
    for folder in /proc /sys /dev; do mount --rbind "$folder" "$root$folder"; done
    for folder in "${@:1:count}"; do
      mkdir -p "$folder" "$root$folder"
      mount --bind "$folder" "$root$folder"
    done
    mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
    for file in resolv.conf hosts pip.conf; do
      [[ ! -e /etc/$file ]] || { touch "$root/etc/$file" && mount --bind "/etc/$file" "$root/etc/$file"; }
    done
    exec chroot "$root" env -C "$PWD" "${@:count+1}"
  ' in_newest_root "$newest_root" "${#seen[@]}" "${seen[@]}" \
    "PATH=$(go env GOROOT)/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" "$@"
}

# The one without a GIL is compiled from Debian's source package, for Debian has no binary package of it.
readonly free_threaded_version=3.14
readonly free_threaded_python=$kept/python${free_threaded_version}t
# A source that the archive still has when it lacks the one of its list, and its SHA-256.
readonly free_threaded_source=pool/main/p/python3.14/python3.14_3.14.7.orig.tar.xz
readonly free_threaded_sum=3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81

# make_free_threaded_python compiles it, unless it is there: about four minutes on two cores.
make_free_threaded_python() {
  [[ -x $free_threaded_python/bin/python3 ]] && return
  (install "what Python is compiled with" gcc make libc6-dev xz-utils libssl-dev zlib1g-dev libffi-dev) || return
  local place status=0
  place=$(mktemp -d)
  compile_python "$place" || status=$?
  rm -rf "$place"
  return $status
}

# compile_python FOLDER downloads the source into the folder and compiles it there.
compile_python() (
  local installed=$1/installed$free_threaded_python
  { listed_source "$1" || kept_source "$1"; } && mkdir "$1/source" &&
    tar -xf "$1"/python*.orig.tar.xz -C "$1/source" --strip-components=1 && cd "$1/source" &&
    ./configure --prefix="$free_threaded_python" --disable-gil --enable-shared --without-ensurepip \
      --disable-test-modules LDFLAGS="-Wl,-rpath,$free_threaded_python/lib" &&
    nice make -j "$(nproc)" && make install DESTDIR="$1/installed" && [[ -x $installed/bin/python3 ]] &&
    mkdir -p "$kept" && rm -rf "$free_threaded_python" && mv "$installed" "$free_threaded_python"
)

# listed_source FOLDER downloads the source that newest_suite lists, with its own lists of packages: the system's are
# left as they are.
listed_source() {
  local apt=(-o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1/cache" -o "Dir::Etc::sourcelist=$1/debian.sources"
    -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root)
  mkdir -p "$1"/lists/partial "$1"/cache/archives/partial
  printf '%s\n' 'Types: deb-src' "URIs: $debian" "Suites: $newest_suite" 'Components: main' \
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$1/debian.sources"
  apt-get "${apt[@]}" update && (cd "$1" && apt-get "${apt[@]}" source --download-only "python$free_threaded_version")
}

# kept_source FOLDER downloads free_threaded_source.
kept_source() {
  rm -f "$1"/python*.orig.tar.xz
  /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$debian/$free_threaded_source" \
    "$1/${free_threaded_source##*/}" "SHA256:$free_threaded_sum"
}
