// Package live is what the members of a queue tell each other by messages that are not stored: that a job has started or
// ended, its events, who is there, and predictions that are not jobs.
//
//	live.go        notices and events of jobs, for members that follow them
//	direct.go      predictions that are not jobs, which other members look up
//	membership.go  the status of all servers, and whether the owner of a job is there
package live
