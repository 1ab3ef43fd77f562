// Package instructions holds a worker to the instructions that it spends on a request. callgrind counts them: they are
// the same from run to run to a thousandth, on a busy machine too, where times are not.
//
// Counted is all that the worker's process does in user space from the moment at which a request has come: our C, our
// Python, CPython and libc. callgrind cannot run Go; no Go runs in the serving of a request, so testdata/worker.c
// stands in for the binary and its 40 lines of Go. testdata/count.py is its front.
//
//	echo          a sync model that returns its text of 19 characters, one request after the other
//	async-echo    the same, async
//	echo-100kB    a text of 100 kB, with escapes and letters that are not ASCII, there and back
//	stream-item   each item of 200 that a generator yields in a row
//	ride-1        a request to a sync model with @batch that rides alone
//	ride-32-item  each request of 32 that ride together
//
// recorded.txt has the counts of the builds of CPython that they are known for. Any other is skipped: compilers differ
// by more than what is watched for. `PINION_RECORD=1 ./build.sh instructions` writes those of the Pythons that are there;
// a change that costs more than limit on purpose is recorded so, and its commit says what it buys.
package instructions
