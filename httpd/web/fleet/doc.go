// Package fleet is the live view of a gateway, at /dashboard: the models of the job queues, their servers, and the jobs
// that wait, run and have died. The page asks for the state every two seconds. However many look on, NATS is asked once
// a second at most.
//
// It is apart because a gateway shows it in the place of package dashboard, with which it shares no state.
package fleet
