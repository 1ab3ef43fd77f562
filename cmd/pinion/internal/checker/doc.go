// Package checker looks for mistakes in a model's folder, for 'pinion check': its cog.yaml, its interpreter, its
// interface, and its setup.
package checker
