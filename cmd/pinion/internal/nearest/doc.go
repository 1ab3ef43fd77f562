// Package nearest finds the known word that is closest to a misspelt one.
package nearest
