// Package protocols tests the other protocols: Open Inference Protocol, OpenAI, instances of cloud platforms, ventu
// batching, and their clients. Package tests says how.
package protocols
