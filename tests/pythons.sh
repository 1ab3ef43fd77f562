# shellcheck shell=bash
# The interpreters that tests run with, and their virtual environments, which build.sh sources.
#
# The tests install CPythons that are newer than this system's packages. They are kept outside the checkout, so that a clean
# checkout need not make them again. Every run has Debian's packages of them, as users have them. They lie in a root file
# system to themselves, because they need a newer C library than this system may have, and so does a worker that loads
# their libpython. The tests of these Pythons run inside of it. A full run also has Pythons that are compiled from
# Debian's source packages on this system.

# shellcheck disable=SC2154 # build.sh sets cache and python_versions
readonly kept=${PINION_TEST_KEPT:-${XDG_CACHE_HOME:-$HOME/.cache}/pinion-tests}
readonly debian=http://deb.debian.org/debian
readonly newest_suite=forky
readonly newest_pythons='3.14 3.15'
readonly newest_root=$kept/debian-$newest_suite

# can_make_newest_root reports whether this is a user and a system that can make it and run commands in it.
can_make_newest_root() { [[ $(id -u) == 0 && ! -e /.pinion-newest-root && -x /usr/bin/apt-get && -x /usr/bin/unshare ]]; }

# make_newest_root makes the root file system with newest_pythons, a C compiler and git, unless it is there. Only root
# can. It takes 90 seconds and 800 MB. It waits if another process is making it.
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

# Those that are compiled, each with a source of Debian's archive for when the newest one of its list cannot be had, and
# its SHA-256. One whose name ends in t has no GIL.
readonly compiled_pythons='3.14 3.14t 3.15 3.15t'
declare -rA source_of=(
  [3.14]='python3.14_3.14.7.orig.tar.xz 3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81'
  [3.15]='python3.15_3.15.0~rc2.orig.tar.xz 8d93af5eaaaea5adfd41bd786a7ba3f03f2ad1ab57c6a65e0b963deab91d5ad7'
)

# make_compiled_pythons compiles those that are not there: about four minutes each on two cores.
make_compiled_pythons() {
  local name status=0
  mkdir -p "$kept"
  exec 9>"$kept/lock-compiled"
  flock 9
  for name in $compiled_pythons; do
    [[ -x $kept/python$name/bin/python3 ]] || compile_python "$name" || status=$?
  done
  return $status
}

# compile_python NAME downloads a source and compiles it.
compile_python() (
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  version=${1%t} prefix=$kept/python$1 options=()
  [[ $1 == "$version" ]] || options=(--disable-gil)
  (install "what Python is compiled with" gcc make libc6-dev xz-utils \
    libbz2-dev libffi-dev liblzma-dev libsqlite3-dev libssl-dev zlib1g-dev) &&
    { listed_source "$version" "$place" || kept_source "$version" "$place"; } && mkdir "$place/source" &&
    tar -xf "$place"/python*.orig.tar.xz -C "$place/source" --strip-components=1 && cd "$place/source" &&
    ./configure --prefix="$prefix" --enable-shared --without-ensurepip --disable-test-modules --with-system-libmpdec=no \
      "${options[@]}" LDFLAGS="-Wl,-rpath,$prefix/lib" &&
    nice make -j "$(nproc)" && make install DESTDIR="$place/installed" && [[ -x $place/installed$prefix/bin/python3 ]] &&
    rm -rf "$prefix" && mv "$place/installed$prefix" "$prefix"
)

# listed_source VERSION FOLDER downloads the source that newest_suite lists, with its own lists of packages: the system's
# are left as they are.
listed_source() {
  local apt=(-o "Dir::State::lists=$2/lists" -o "Dir::Cache=$2/cache" -o "Dir::Etc::sourcelist=$2/debian.sources"
    -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root)
  mkdir -p "$2"/lists/partial "$2"/cache/archives/partial
  printf '%s\n' 'Types: deb-src' "URIs: $debian" "Suites: $newest_suite" 'Components: main' \
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$2/debian.sources"
  apt-get "${apt[@]}" update && (cd "$2" && apt-get "${apt[@]}" source --download-only "python$1")
}

# kept_source VERSION FOLDER downloads the one of source_of.
kept_source() {
  local file sum
  read -r file sum <<<"${source_of[$1]}"
  rm -f "$2"/python*.orig.tar.xz
  /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$debian/pool/main/p/python$1/$file" "$2/$file" "SHA256:$sum"
}

# make_test_pythons makes virtual environments of the interpreters that can be embedded, and fills two arrays: venvs are
# those that every test runs with, smoke_venvs serve one model of each kind (tests/workers/smoke_test.go).
make_test_pythons() {
  local status version executable name requirements minor='' i found=() free=() folders=() processes=()
  while read -r status version _ executable; do
    case $status in
      ok) found+=("$version $executable") ;;
      free-threaded) free+=("$version $executable") ;;
      unsupported) ;;
      *) say "left out: $executable, Python $version ($status)" ;;
    esac
  done < <(test_pythons | sort -k 2,2V)
  [[ ${#found[@]} -gt 0 ]] || die "there is no Python to test with: CPython $python_versions with a shared libpython"
  for i in "${!found[@]}"; do
    read -r version executable <<<"${found[i]}"
    name=$version requirements=tests/requirements.txt
    [[ $executable != "$kept"/* ]] || name+=-compiled # Debian's package may have the same version
    if ! every_test "$i" "${#found[@]}"; then
      [[ ${version%.*} != "$minor" ]] || continue
      name+=-smoke requirements=tests/requirements-smoke.txt
    fi
    minor=${version%.*}
    make_venv "$executable" "$cache/venvs/$name" "$requirements" &
    processes+=($!) folders+=("$cache/venvs/$name")
  done
  for i in "${!free[@]}"; do # builds without a GIL, which only a full run compiles
    read -r version executable <<<"${free[i]}"
    name=${version}t-smoke
    make_venv "$executable" "$cache/venvs/$name" tests/requirements-smoke.txt &
    processes+=($!) folders+=("$cache/venvs/$name")
  done
  venvs=() smoke_venvs=()
  for i in "${!folders[@]}"; do
    if ! wait "${processes[i]}"; then
      say "left out: ${folders[i]} could not be made"
    elif [[ ${folders[i]} == *-smoke ]]; then
      smoke_venvs+=("${folders[i]}")
    else
      venvs+=("${folders[i]}")
    fi
  done
  [[ ${#venvs[@]} -gt 0 ]] || die "no virtual environment could be made"
}

# test_pythons prints what probe says of each interpreter to test with. The compiled ones are for full runs. In the root
# file system of newest_suites those of the home folder are left out.
test_pythons() {
  local name
  if [[ -e /.pinion-newest-root ]]; then
    for name in $newest_pythons; do probe "/usr/bin/python$name"; done
    return
  fi
  pythons
  full || return 0
  for name in $compiled_pythons; do probe "$kept/python$name/bin/python3" || true; done
}

# every_test INDEX COUNT reports whether every test runs with this interpreter, one of COUNT from the oldest to the newest.
# A short run takes the oldest and the newest. The newest is in the root file system of newest_suites, where that can be.
every_test() {
  full && return
  if [[ -e /.pinion-newest-root ]]; then
    [[ $1 == $(($2 - 1)) ]]
  else
    [[ $1 == 0 ]] || { [[ $1 == $(($2 - 1)) ]] && ! can_make_newest_root; }
  fi
}

# make_models makes the environments for models that need more packages.
make_models() {
  suite 05-models make_venv "$(choose_python)" "$cache/venvs/models" tests/requirements-models.txt
  make_pydantic1
}

# make_pydantic1 makes one with pydantic 1 beside each of venvs.
make_pydantic1() {
  local venv
  for venv in "${venvs[@]}"; do make_venv "$venv/bin/python" "$venv-pydantic1" tests/requirements-pydantic1.txt; done
}
