// Package jobview prints what 'pinion jobs' tells of a model's job queue: as tables for people, as JSON for programs.
//
// It prints no request body, and of a webhook's URL only the host: both may hold secrets. Inputs are those of the prediction objects, in
// which the servers have redacted the secret ones.
//
//	read.go   what the queue says
//	view.go   the values, as JSON has them
//	table.go  the tables
package jobview
