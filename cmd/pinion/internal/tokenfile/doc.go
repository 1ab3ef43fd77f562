// Package tokenfile reads the bearer tokens of --auth-token-file, again on each reload. No message shows a token.
package tokenfile
