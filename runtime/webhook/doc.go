// Package webhook delivers a prediction's events to its webhook: it POSTs the prediction object, as of the event, to
// the URL that the request named.
//
// Guarantees:
//
//   - An event costs the prediction a short lock and, if no delivery is running, a goroutine. A slow or broken receiver
//     delays no prediction, and no other prediction's deliveries.
//   - The deliveries of one prediction are sequential, in the order of its events.
//   - start is sent once; output for every output; logs with the newest state, at most every Options.Throttle, and
//     always with the last text; completed once, as the last.
//   - completed is retried after connection errors and the statuses 429, 500, 502, 503 and 504. The other events are
//     tried once.
//   - The prediction is held (its folder, its output's memory) until its last delivery has ended.
//   - Waiting deliveries are bounded: Options.MaxPending outputs of a prediction, beyond which the newest replaces the
//     last; and Options.MaxRetries predictions with Options.MaxRetryBytes that wait for a retry.
//   - Logs and errors show only the scheme and host of a URL.
//
// A redirect with status 301, 302, 307 or 308 is followed with the same POST, up to Options.MaxRedirects times and only
// to http and https. The bearer token is sent only to the same host, and never after a redirect from https to http.
// Status 303 counts as delivered, like 2xx.
package webhook
