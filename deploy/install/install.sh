#!/bin/sh
# Installs Pinion @VERSION@ for Linux: checks the checksum, then puts pinion and pinion-nats into a folder.
#
#     sh -c "$(curl -fsSL @URL@/install.sh)"
#
# PINION_INSTALL_DIR names the folder: default /usr/local/bin for root, else ~/.local/bin.
set -eu

version=@VERSION@
url=${PINION_INSTALL_URL:-@URL@}

die() {
  echo "install.sh: $*" >&2
  exit 1
}

main() {
  [ "$(uname -s)" = Linux ] || die "Pinion runs on Linux; on macOS and Windows use a container or WSL"
  case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) die "there is no binary for $(uname -m): it is made for x86_64 and aarch64" ;;
  esac
  ! ldd --version 2>&1 | grep -qi musl || die "Pinion needs glibc, and this system has musl"
  command -v sha256sum >/dev/null || die "there is no sha256sum: install coreutils"
  if [ -n "${PINION_INSTALL_DIR:-}" ]; then
    folder=$PINION_INSTALL_DIR
  elif [ "$(id -u)" = 0 ]; then
    folder=/usr/local/bin
  else
    folder=${HOME:?HOME is not set: name the folder in PINION_INSTALL_DIR}/.local/bin
  fi
  name=pinion_${version}_linux_$arch
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  fetch "$name.tar.gz"
  fetch SHA256SUMS
  line=$(grep "  $name.tar.gz\$" "$place/SHA256SUMS") || die "SHA256SUMS has no line for $name.tar.gz"
  (cd "$place" && echo "$line" | sha256sum -c - >/dev/null 2>&1) ||
    die "$name.tar.gz has another checksum than SHA256SUMS says: nothing is installed"
  tar -xzf "$place/$name.tar.gz" -C "$place"
  mkdir -p "$folder"
  for program in pinion pinion-nats; do
    # Moved into place, so that a running server keeps its file.
    new=$folder/.$program.new
    { cp "$place/$name/$program" "$new" && chmod 755 "$new" && mv "$new" "$folder/$program"; } ||
      die "cannot write to $folder: name another in PINION_INSTALL_DIR"
  done
  echo "installed pinion $version in $folder"
  case ":$PATH:" in
  *":$folder:"*) ;;
  *) echo "add it to the PATH: export PATH=\"$folder:\$PATH\"" ;;
  esac
}

# fetch downloads a file of the release.
fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL -o "$place/$1" "$url/$1" || die "cannot fetch $url/$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$place/$1" "$url/$1" || die "cannot fetch $url/$1"
  else
    die "there is neither curl nor wget"
  fi
}

main
