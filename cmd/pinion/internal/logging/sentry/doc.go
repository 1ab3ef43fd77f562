// Package sentry reports the errors of the server's log to Sentry, as Cog's server does: failed setups, workers that
// die, what the server cannot do. Warnings go with them as breadcrumbs. Failed predictions are the model's results, and
// are not reported.
//
//	Read    the settings: SENTRY_DSN, SENTRY_ENVIRONMENT, SENTRY_RELEASE
//	Start   starts to send; without a DSN nothing of it runs
//	Follow  makes a logger whose errors are reported
//	Stop    sends what waits, for a second at most
//
// Nothing here blocks its caller: what Sentry does not take in time is dropped.
package sentry
