// Package cluster runs deploy/kubernetes in a control plane of Kubernetes: etcd, the API server, the controller manager
// and the scheduler, with KEDA's operator and metrics adapter. Helm installs the chart of deploy/helm there. `./build.sh
// cluster` builds these from their modules and runs the test in separate namespaces.
//
// The nodes are the test's. It plays their kubelets: it runs the containers' commands as processes, with the
// environment, files, probes and ends that the manifests give them. Each pod has an address of its own, and /etc/hosts
// names services and pods as the cluster's DNS would, by the EndpointSlices. So NATS, gateways and servers are real,
// and KEDA reads real queues.
//
// Left out: KEDA's admission webhooks, the Prometheus Operator (only its definitions are there), and what enforces
// network policies and limits.
package cluster
