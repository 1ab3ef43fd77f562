// Package setuptrace records the setup of each worker process as a trace.
package setuptrace
