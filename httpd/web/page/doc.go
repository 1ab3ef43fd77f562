// Package page is the playground at /docs: one HTML page that makes a form of the model's schema, runs predictions and
// shows their results. The page is embedded and loads nothing from other servers. It shows a model's output as text,
// media or data, and never runs it as HTML.
//
// It uses only the public HTTP API. Only cmd imports it.
package page
