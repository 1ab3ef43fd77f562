// Command load sends requests and says how long their answers took.
//
// With a rate it is an open loop: requests are due by the clock, independent of earlier ones, and the time of each
// counts from when it was due. A server that stalls for a second is thus charged for every request of that second, not
// for the one that was on its way ("coordinated omission"). Without a rate it is a closed loop: each connection asks
// when it was answered.
//
// The result is one JSON object on standard output. Every answer is checked: one without the expected text is wrong;
// 409, 429 and 503 are refusals, and their times do not count.
package main
