// Command overload measures a server that gets ten times as many requests as it can serve. bench/overload.sh builds
// what it needs and starts it.
//
// First, as many clients as there are places send requests, each after its last answer: the peak. Then requests leave
// by the clock, at ten times the peak's rate, independent of earlier ones. At last the peak is measured once more. What
// is printed compares the two. The exit code is 1 if a promise was not kept, which means little on a machine with other
// work, and 3 if the machine's host gave so much of its CPU time to others that the run shows nothing.
package main
