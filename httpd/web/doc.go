// Package web makes the server's web pages: one HTML document each, with its style and scripts inside. A page loads
// nothing, and its Content-Security-Policy names the style and the script by digest, so that nothing else can run.
//
// It also has what the pages share: their colours and controls (base.css), and the scripts for elements, words,
// requests, the server's state and the bearer token. So it lies above the package of the live views, which imports it.
//
// Page is the playground at /docs: it makes a form of the model's schema, runs predictions and shows their results, by
// the public HTTP API alone. It shows a model's output as text, media or data, and never runs it as HTML.
package web
