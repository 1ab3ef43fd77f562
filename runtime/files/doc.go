// Package files makes a prediction's folders: the files that its input names by URL are downloaded or
// decoded into one before the model runs, those of its output are uploaded from another, and each is removed,
// with everything that the model left there, when the prediction is over.
//
// It promises: all files of a request are fetched at once, and all of a chunk of output uploaded at once; limits
// on size, number and time hold whatever a server sends; a failed Fetch leaves nothing on disk; cleanup may be
// called any number of times from any goroutine; no name on disk is chosen by a client without being made safe,
// and no mark in an output names a file outside of its prediction's folder; errors never show credentials, query
// strings or data; a redirect leads to http and https only.
//
// It imports predict and rawjson; the service imports it.
package files
