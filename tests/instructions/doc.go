// Package instructions limits the instructions that a worker spends on a request. callgrind counts them: unlike times,
// they are the same from run to run to a thousandth, on a busy machine too. async-echo on CPython 3.10 is the same to
// three hundredths, for it also depends on where CPython's objects lie (count.py, MIXES).
//
// It counts what the worker's process does in user space from the moment at which a request has come: our C, our
// Python, CPython and libc. callgrind cannot run Go. No Go runs while a request is served, so testdata/worker.c
// replaces the binary and its 40 lines of Go. testdata/count.py is the front.
//
//	echo          a sync model that returns its text of 19 characters, one request after the other
//	async-echo    the same, async
//	echo-100kB    a text of 100 kB, with escapes and letters that are not ASCII, there and back
//	stream-item   each item of 200 that a generator yields in a row
//	batch-1       a request to a sync model with @batch, alone in its batch
//	batch-32-item each request of a batch of 32
//
// recorded.txt has the counts of known builds of CPython; a request may exceed them by 5 %. Another build is compared
// with the nearest recorded one and may exceed it by half, for compilers, libraries and processors differ.
// `PINION_RECORD=1 ./build.sh instructions` records the Pythons that are there. A change that exceeds the limit on
// purpose records the new counts, and its commit says what it gains.
package instructions
