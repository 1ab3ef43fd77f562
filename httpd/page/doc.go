// Package page is the playground at /docs: one HTML page that makes a form of the model's schema, runs predictions
// and shows what comes back. The page is in the binary and fetches nothing from elsewhere; what a model returns is
// only ever shown as text, media or data, never run as HTML.
//
// It knows the public HTTP API alone. Only cmd imports it.
package page
