// Package egress sends the server's own HTTP requests: webhooks, uploads and downloads. It follows redirects, says when
// a failed request is tried again, and can refuse connections to addresses outside the public Internet, after any name
// resolution or redirect.
package egress
