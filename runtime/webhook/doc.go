// Package webhook tells a prediction's webhook of its events: it POSTs the prediction object, as it was at
// the event, to the URL that the request named.
//
// It promises:
//
//   - An event costs the prediction a short lock and, where nothing is being delivered, a goroutine.
//     No receiver, however slow or broken, delays a prediction, or another prediction's deliveries.
//   - The deliveries of one prediction arrive in the order of its events, one after the other.
//   - start comes once; output on every output; logs at most every Options.Throttle with the newest state,
//     never without the last text; completed once, and last.
//   - completed is tried again after connection errors and the statuses 429, 500, 502, 503 and 504; the
//     others are tried once.
//   - The prediction is held (its folder, its output's memory) until its last delivery has ended.
//   - What waits for a slow receiver is bounded: Options.MaxPending outputs a prediction, beyond which the
//     newest takes the last one's place; and Options.MaxRetries predictions with Options.MaxRetryBytes of
//     records that may wait for another try.
//   - No log line and no error shows more of a URL than its scheme and host.
//
// A redirect with status 301, 302, 307 or 308 is followed with the same POST, Options.MaxRedirects times
// and only to http and https; the bearer token goes along only to the same host, and never from https to
// http. 303 says that the event was taken in: it counts as delivered, as every 2xx does.
//
// It imports predict; the service imports it.
package webhook
