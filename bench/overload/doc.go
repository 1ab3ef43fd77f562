// Command overload measures what becomes of a server that is asked for ten times as much as it can do.
// bench/overload.sh builds what it needs and starts it.
//
// First as many clients as there are places ask, each when it was answered: the peak. Then requests leave by the clock,
// at ten times the peak's rate, independent of earlier ones. At last the peak is measured once more. What is
// printed compares the two. The exit code is 1 where a promise was not kept, which on a machine with other work says
// little, and 3 where the machine's host gave so much of its CPU time to others that the run shows nothing.
package main
