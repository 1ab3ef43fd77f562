// Command fleetchecker reads what the clients of several servers with one job queue noted, and what their models wrote
// down, and says which promises were broken. It knows nothing else of the servers, and imports nothing of them.
//
//	fleetchecker -attempts 5 journal.jsonl ledger.txt
//
// Its exit code is 0 if all held, 1 where one did not, 2 where it could not decide. What it proves, of each
// prediction that was answered 202:
//
//   - It has ended, in one way: every look at it, at any server, and every webhook tell the same status and the same
//     run.
//   - Where it succeeded, that run is in the ledger. Where it failed, the queue gave it up after all attempts.
//   - It was canceled only where a client asked for it, and where such a cancel was answered 200 it has not succeeded.
//   - Its webhook came.
//   - It ran at most as often as it has attempts.
package main
