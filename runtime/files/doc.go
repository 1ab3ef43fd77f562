// Package files makes a prediction's folder: the files that its input names by URL are downloaded
// or decoded into it before the model runs, and it is removed with everything that the model left
// there when the prediction is over.
//
// It promises: all files of a request are fetched at once; limits on size, number and time hold
// whatever a server sends; a failed Fetch leaves nothing on disk; cleanup may be called any number
// of times from any goroutine; no name on disk is chosen by a client without being made safe;
// errors never show credentials, query strings or data.
//
// It imports predict and rawjson; the service imports it.
package files
