// Package jobscommand is 'pinion jobs': it lists, cancels and retries the jobs of a model's queue, and changes its
// limits.
//
// It prints no request body, and of a webhook's URL only the host: both may hold secrets. Inputs are those of the
// prediction objects, in which the servers have redacted the secret ones.
package jobscommand
