// Package jobscommand is 'pinion jobs': it lists, cancels and retries the jobs of a model's queue, and changes its limits.
package jobscommand
