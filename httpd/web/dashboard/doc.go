// Package dashboard is the live view at /dashboard: one page, its figures as server-sent events, and the details of a
// prediction. It changes nothing; its page cancels predictions through the API.
//
// A sampler reads counters once a second and keeps the last 15 minutes. It touches no prediction. Everything else
// (workers, queue, predictions) is read only while a client follows the events, once a second for all clients together.
//
// Routes:
//
//	/dashboard                          the page, without data
//	/dashboard/events                   server-sent events: hello, then figures each second
//	/dashboard/prediction               the logs of ?kind=…&id=…; its input and output if Options.Content is set
//	/dashboard/search                   the ended predictions that the server still has, by ?q=…
//	/dashboard/stack                    POST: the Python stack of a prediction that runs
//
// A gateway shows its fleet there instead, with the route /dashboard/fleet.
//
// Only cmd imports it, and gives the routes to httpd, which decides who may read them.
package dashboard
