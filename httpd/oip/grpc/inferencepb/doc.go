// Package inferencepb has the messages and the service of the Open Inference Protocol over gRPC, generated from
// inference.proto by "./build.sh proto".
package inferencepb
