// Package loadgen measures the predictions of a server, for 'pinion bench': it finds an input, tries it, asks as fast
// as the server answers, or by the clock, and reports.
//
// Closed loop: each connection asks again when it was answered. That shows what the server can do; its times say
// little, because a slow server gets fewer requests.
//
// Open loop: requests are due by the clock, independent of earlier ones. A time runs from the moment at which the
// request was due where every connection was still waiting for an answer then, so that a server that stops for a second
// pays for all that would have come in that second (what Gil Tene calls coordinated omission is avoided). Where a
// connection was free the time runs from the sending: how late the clock of this process wakes is not the server's
// doing.
package loadgen
