// Package api tests the HTTP API of predictions: requests, files, streams, webhooks, limits, several models, and the
// conformance scripts. Package tests says how.
package api
