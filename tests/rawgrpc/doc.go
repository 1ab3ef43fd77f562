// Package rawgrpc is a gRPC client that sends what no library would: half messages, endless metadata, no windows.
package rawgrpc
