package ipc

import "strconv"

//go:generate go run ./kindgen ..

// Kind says what a frame means. The values are the protocol: never reuse one. 'go generate' writes them for C and
// Python.
type Kind uint8

const (
	// Front to worker, on a slot's channel.

	KindPredict Kind = 1 // {"input":{…},"context":{…},"files":{…}[,"function":"…"]}
	KindBatch   Kind = 2 // {"ids":[…][,"context":{…}]}: run these together; id is the batch's own
	KindDrop    Kind = 3 // {"ids":[…]}: nothing waits for these any more

	// one item of the streamed input, any JSON value or tensor; with FlagBinary bytes, or the elements of an array
	KindItem Kind = 4
	// no body: the streamed input has ended; with one, a text: it is broken
	KindItemsEnd Kind = 5

	// Worker to front, on a slot's channel.

	KindSucceeded Kind = 16 // {"metrics":{…},"output":…}; ends the prediction
	KindFailed    Kind = 17 // {"metrics":{…},"error":"…" or {…}}; ends the prediction
	KindCanceled  Kind = 18 // {"metrics":{…}}; ends the prediction
	KindLog       Kind = 19 // {"source":"stdout","data":"…"}: text that Python has separated
	// {"stdout":n,"stderr":n[,"own_stdout":n,"own_stderr":n]}: what the pipes hold up to here is this id's
	KindLogMark   Kind = 20
	KindStarted   Kind = 21 // no body: the model has it now; only with FlagEvents, like the next two
	KindOutput    Kind = 22 // one item that the model yielded, any JSON value
	KindMetric    Kind = 23 // {"name":"…","value":…,"mode":"replace"|"increment"|"append"}
	KindPrepared  Kind = 24 // no body: it is ready for its batch
	KindBatchDone Kind = 25 // {"runs":n,"size":n,"failed":…}: the function has ended; nanos is what it took

	// no body: the read end of a pipe comes with it (FlagFile); nanos is 0 for stdout, 1 for stderr
	KindLogPipe Kind = 26
	// n, in ns: what its input took to prepare; nanos is when the model had it; only with FlagTrace
	KindTraced      Kind = 28
	KindLogPipesEnd Kind = 27 // no body: what comes through those pipes after the last mark is unattributed

	// {"pipe":n,"from":n,"to":n,"level":n,"logger":"…"}: a record of the server's log; also on the control channel
	KindLogRecord Kind = 31

	KindItemsRead Kind = 30 // no body: nanos is how many more items of its streamed input the model has taken

	KindCalls Kind = 29 // no body: a socket for one call of another model comes with it (FlagFile)

	// Worker to front, on the control channel.

	KindHello       Kind = 32 // {"protocol":1,"pid":…,"python":"3.12.1","executable":"…"}
	KindLoaded      Kind = 33 // {"cog":"…","slots":n,"async":…,"schema":{…}}
	KindReady       Kind = 34 // {"seconds":…,"stdout":n,"stderr":n}
	KindSetupFailed Kind = 35 // {"error":"…","seconds":…,"stdout":n,"stderr":n,"problem":{…}}
	KindCUDA        Kind = 36 // the report of pyembed/cuda, at any time
	KindHealthy     Kind = 37 // {"ok":true} or {"ok":false,"error":"…"}: the answer to the Health of that id
	KindPong        Kind = 38 // no body: the answer to KindPing
	KindStack       Kind = 43 // text of the fault handler, no JSON: the answer to KindAskStack
	KindStacks      Kind = 44 // "text": what tasks and other threads do; follows a KindStack of main's

	// {"batches":{"decode":[size,wait,time,…]},"spans":[…]}: batches of methods since the last report; times in ns
	KindMethodBatches Kind = 41

	// Preload process to front, on its channel.

	KindPreloaded Kind = 39 // {"refused":"…","imports":…,"setup_seconds":…}: whether workers may be forked
	KindForked    Kind = 40 // {"pid":…} or {"error":"…"}: the answer to KindFork

	// Front to worker, on the control channel.

	KindSlot     Kind = 48 // no body: id is the slot's index; the socket comes with it (FlagFile)
	KindShutdown Kind = 49 // {}: finish what runs, then leave
	KindHealth   Kind = 50 // {}: run the model's healthcheck; id is the front's serial number
	KindPing     Kind = 51 // no body: asks for a Pong

	KindInterrupt Kind = 54 // no body: look at the cancel words; for a worker whose slots have threads
	KindAskStack  Kind = 55 // no body: asks for the stack of what a slot runs; id is StackID

	// Front to preload process, on its channel.

	KindHandle Kind = 52 // no body: id is the place of the descriptor that comes with it (FlagFile), among a worker's
	KindFork   Kind = 53 // {"config":{…},"env":{…}}: fork a worker that has the handles sent before
)

// Kinds of a call's socket, beside Started, Output, Succeeded and Failed, by which the front answers.
const (
	KindCall Kind = 56 // {"model":"…","input":{…},…}: run that model; worker to front
	KindRead Kind = 57 // no body: id is how many more items the caller has read; worker to front
)

// String returns the kind's name, or its number where no version of the protocol has it.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "unknown (" + strconv.Itoa(int(k)) + ")"
}

// Ends reports whether a frame of this kind ends its prediction.
func (k Kind) Ends() bool { return k >= KindSucceeded && k <= KindCanceled }
