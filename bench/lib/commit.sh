# shellcheck shell=bash
# build_commit COMMIT prints the folder of the binaries of another commit, which its own build.sh made, now or before.
build_commit() (
  commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "bench: there is no commit $1" >&2; exit 2; }
  folder=.cache/compare/$commit
  if [[ ! -x $folder/pinion ]]; then
    tree=$(mktemp -d)
    trap 'git worktree remove --force "$tree" && rm -rf "$tree"' EXIT
    git worktree add --quiet --force --detach "$tree" "$commit"
    (cd "$tree" && ./build.sh build) >&2
    mkdir -p "$folder"
    cp "$tree"/bin/pinion* "$folder"
  fi
  echo "$folder"
)
