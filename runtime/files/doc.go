// Package files makes a prediction's folders. Files that an input names by URL are downloaded or decoded into one
// before the model runs; output files are uploaded from another. Each folder is removed with all its content after the
// prediction.
//
// Guarantees: the files of a request are fetched concurrently, and those of an output uploaded concurrently. Limits on
// size, number and time hold for any server. A failed Fetch leaves nothing on disk. A cleanup may be called any number
// of times, from any goroutine. Client-chosen names are made safe before they are used on disk, and no mark in an
// output names a file outside its prediction's folder. Errors never show credentials, query strings or data. A redirect
// leads only to http and https.
package files
