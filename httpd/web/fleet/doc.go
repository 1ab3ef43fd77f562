// Package fleet is the live view of a gateway, at /dashboard: the models of the job queues, their servers, and the jobs
// that wait, run and have died. The page asks for the state every two seconds. However many pages are open, NATS is
// asked at most once a second.
//
// It is a separate package because a gateway shows it in place of package dashboard, with which it shares no state.
package fleet
