// Package settings reads and checks the flags and variables of pinion serve, pinion gateway and pinion batching, and of
// what pinion jobs has in common with them. A flag overrides its variable, and a variable the default.
package settings
