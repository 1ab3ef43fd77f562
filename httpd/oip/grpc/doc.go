// Package grpc speaks the Open Inference Protocol over gRPC: KServe's service GRPCInferenceService, with Triton's
// ModelStreamInfer and repository calls, the standard health service, and reflection. It has a separate port.
//
// Guarantees:
//
//   - The predictions are those of package oip, so names, datatypes, shapes and errors are the same as over REST.
//   - A call that is cancelled, or whose deadline passes, cancels its predictions.
//   - Connections, calls, metadata, messages and answers are bounded and charged. Silent clients are ended, and slow
//     ones when others wait for their memory.
//   - Messages larger than Options.MaxMessage are refused with RESOURCE_EXHAUSTED.
//   - The health service, ServerLive and ServerReady need no token; everything else does where Options.Authorized is
//     set.
//   - Shutdown lets calls in flight end, and refuses new requests of open streams.
//
// Lock order: conn.mu, then those of package memory.
package grpc
