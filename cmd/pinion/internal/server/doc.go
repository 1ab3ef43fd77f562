// Package server has the servers of the commands. None of them loads Python.
//
//	Server       of 'pinion serve': it joins HTTP and the other protocols, models and their workers, the job queue,
//	             metrics and traces, and it starts, reloads and stops them
//	RunGateway   of 'pinion gateway': the HTTP API of a model without the model; all requests go to the job queue
//	RunBatching  of 'pinion batching': HTTP in front of the queue of runtime/ventu
//
// A target is a model, or a version of one, as requests and jobs find it. Routes find it before anything is asked of it: the
// target itself where its name is asked for, versions for a model's name, rootRoute for the default model. What a target does
// with a request it does for HTTP, for the other protocols and for jobs alike: it notes the version, copies the request for the
// mirror, and hands it to the model's successor if the model is replaced meanwhile.
//
// What they share: sockets (a port in use is explained by the process that has it, and by the flag or variable that
// chooses another), bearer tokens (no message shows one), a member of the job queue in the shapes that HTTP, health and
// metrics ask for, and the limits of the container.
//
// Of these Go knows one: it sets GOMAXPROCS by the limit of CPU time, rounded up and never below 2, of the process's
// own control group and not of those around it. It reads no memory limit, and cannot tell a limit of one CPU from one
// of two.
//
// A server that serves models sets Go's collector after each of its runs, so that a small heap does not make it run too
// often, and a large one is only doubled. GOGC in the environment switches this off.
package server
