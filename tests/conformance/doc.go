// Package conformance runs the scripts of this folder, each of which holds one sentence of the HTTP contract against
// the real binary. A script is what a user of the API would do: it starts with the sentence, serves a model, sends
// requests, and says what comes back, byte for byte.
//
// The scripts are those of github.com/rogpeppe/go-internal/testscript, so '…' quotes, # begins a comment, and files may
// follow the commands (-- name --). The commands of this package:
//
//	serve MODEL [NAME=VALUE…] [FLAG…]   a server of tests/models, ready. Scripts that say the same share one, in turn
//	start MODEL [NAME=VALUE…] [FLAG…]   a server of this script's own, which listens; `start again` the same once more
//	health STATUS [has BODY]            waits for that state of the server
//	> METHOD PATH [HEADER…] [BODY]      a request; a header is Name:value, and a body is JSON unless Content-Type: says
//	                                    otherwise. @name is the content of a file
//	< CODE [HEADER…] [[has] BODY]       its answer. A header without a value must not be there
//	begin NAME METHOD PATH …            a request in the background, on its own connection
//	raw NAME BYTES                      bytes on a connection of that name, with the escapes of a Go string
//	end NAME CODE [HEADER…] [BODY]      the next answer on that connection; `end NAME closed` where the server ends it
//	event NAME TYPE [has] DATA          the next event of a stream; `event NAME closed` where it ends,
//	                                    `event NAME begun` when its head has come: what happens from then on is seen
//	leave NAME                          closes the connection, as a client does that goes away
//	until METHOD PATH CODE [has] BODY   repeats a request until that is the answer
//	log TEXT                            waits for a line of the server's log
//	gate NAME, open NAME                a named pipe in the model's folder at which the model waits, and its opening
//	file NAME TEXT                      a file in the model's folder
//	receiver NAME                       an HTTP server, whose URL is $NAME; it answers 200 by default
//	reply NAME PATH CODE [HEADER…] [BODY]  how it answers the next request for that path, and, when no more is told,
//	                                    those after it. Instead of CODE: hang (until `release NAME`), cut (half of the body)
//	received NAME METHOD PATH [HEADER…] [[has] BODY]  the next request that it got; `received NAME nothing` if none
//	files none                          waits until no prediction has a file on the server's disk
//	signal NAME                         a signal to the server
//	crash front|worker                  kills that process at once
//	exit CODE                           waits for the server's end: nothing may be left, neither processes nor files
//
// In a BODY stand <id> for a made id, <time> for a time in RFC 3339, <number>, <int>, and <any> for anything at all;
// all else is compared as it stands. After `has` it is JSON of which only the members named count.
//
// At the end of each script nothing may be in flight, and no file of a prediction may be left.
package conformance
