// Package modelhost hosts the models of a server: it loads each into worker processes, lets requests in, reloads and
// unloads it.
//
//	Host   what the models share: their memory limit, the cog package, the binary
//	Model  one model: its folder and Python, workers, slots and service
//
// A model is loaded at the start, by the first request, or by a client. Where the models have a memory limit, the least
// recently used ones that are idle are unloaded for another. The tables of state.go and the choice of eviction.go do no
// I/O. The package knows nothing of HTTP and of the job queue: the server gives them a model's service.
package modelhost
