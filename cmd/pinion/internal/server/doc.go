// Package server has the servers of the commands. None of them loads Python.
//
//	Server       of 'pinion serve': it joins HTTP and the other protocols, models and their workers, the job queue,
//	             metrics and traces, and it starts, reloads and stops them
//	RunGateway   of 'pinion gateway': the HTTP API of a model without the model; all requests go to the job queue
//
// A target is a model, or a version of one, as requests and jobs find it. Routes find it before anything is asked of it: the
// target itself where its name is asked for, versions for a model's name, rootRoute for the default model. What a target does
// with a request it does for HTTP, for the other protocols and for jobs alike: it notes the version, copies the request for the
// mirror, and hands it to the model's successor if the model is replaced meanwhile.
//
// What they share: a member of the job queue in the shapes that HTTP, health and metrics ask for. Package ports has their sockets,
// certificates and tokens, package resources the limits of the container.
package server
