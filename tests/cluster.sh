# shellcheck shell=bash
# Runs the manifests of deploy/kubernetes and the chart of deploy/helm in a control plane of Kubernetes with KEDA, which build.sh sources.

# shellcheck disable=SC2154 # build.sh and other files of tests/ set cache, kept, keda, prometheus_operator and results
readonly kubernetes=1.37.2
readonly cluster=$kept/cluster/kubernetes-$kubernetes-keda-$keda

## cluster          the manifests and the chart in a real control plane of Kubernetes with KEDA, NATS and Pinion, and nodes that the test
##                  plays; the first run builds Kubernetes and KEDA, which takes half an hour or more
cmd_cluster() {
  need_test_tools
  rm -rf "$results"
  mkdir -p "$results"
  go build -o "$cache/report" ./tests/cmd/report
  suite 10-build cmd_build
  suite 15-control-plane make_control_plane
  cluster_suite
  end_tests
}

# make_control_plane builds etcd, Kubernetes and KEDA from their modules, unless they are there. Kubernetes' own go.mod takes its
# libraries from folders that the module leaves out; they are modules of the same version.
make_control_plane() (
  [[ ! -e $cluster/.complete ]] || return 0
  mkdir -p "$cluster"
  exec 9>"$cluster/.lock"
  flock 9
  [[ ! -e $cluster/.complete ]] || return 0
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  export CGO_ENABLED=0 GOWORK=off
  build() { nice -n 10 go build -p 2 -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$kubernetes" -o "$cluster/$1" "${@:2}"; }
  source=$(module_folder "k8s.io/kubernetes@v$kubernetes") && cd "$source" &&
    sed -E "s#=> \./staging/src/(.*)#=> \1 v0.${kubernetes#1.}#" go.mod >"$place/go.mod" && cat go.sum >"$place/go.sum" &&
    build etcd -mod=mod -modfile="$place/go.mod" go.etcd.io/etcd/server/v3 || return
  for program in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    build "$program" -mod=mod -modfile="$place/go.mod" "./cmd/$program" || return
  done
  source=$(module_folder "github.com/kedacore/keda/v2@v$keda") && cp -r "$source" "$place/keda" && chmod -R u+w "$place/keda" && cd "$place/keda" &&
    leave_out_scalers && build keda-operator -gcflags='all=-N -l -dwarf=false' ./cmd/operator &&
    build keda-adapter -gcflags='all=-N -l -dwarf=false' ./cmd/adapter && touch "$cluster/.complete"
)

# leave_out_scalers takes all but a few of KEDA's scalers out of its source. The clients that they need take longer to compile
# than all of the rest; not optimizing what is left halves that once more.
leave_out_scalers() {
  local list=pkg/scaling/scalers_builder.go
  find pkg/scalers -maxdepth 1 -name '*_scaler.go' ! -name 'nats_jetstream_*' ! -name 'cpu_memory_*' ! -name 'external_*' -delete
  sed -i 's/externalMetricType/"External"/' pkg/scalers/external_scaler.go # which another scaler defines
  awk '/^\tcase "/ { out = !/"(nats-jetstream|cpu|memory)"/ } /^\tdefault:/ { out = 0 } !out' "$list" >"$list.new" && mv "$list.new" "$list"
}

# cluster_suite runs the test, which plays the nodes.
cluster_suite() {
  local helm
  helm=$(sed -n 's/^const helmCommand = "\(.*\)"$/\1/p' tests/docs/deploy_helm_test.go)
  CGO_ENABLED=0 go build -o "$cache/cluster/nats-server" github.com/nats-io/nats-server/v2 &&
    CGO_ENABLED=0 GOBIN=$(realpath "$cache/cluster") go install "$helm" || return
  go_suite 70-cluster PINION_BIN="$PWD/bin/pinion" PINION_PYTHON="$(choose_python)" PINION_TEST_CLUSTER="$cluster:$cache/cluster" \
    PINION_TEST_DEFINITIONS="$(module_folder "github.com/kedacore/keda/v2@v$keda"):$(module_folder "$prometheus_operator")" \
    -count=1 ./tests/cluster
}
