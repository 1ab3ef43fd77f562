package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/moves"
	"pinion/runtime/trace"
)

// Kind is what a job runs.
type Kind string

// The kinds of a job.
const (
	Prediction Kind = "prediction"
	Training   Kind = "training"
)

// Job is a request that was accepted, as its message carries it.
type Job struct {
	ID          string
	Kind        Kind
	Class       Class
	Tenant      string
	Body        []byte // of the create request, as it came
	ContentType string
	Schema      string    // the revision of the schema that it was checked against; "" means not checked
	Deadline    time.Time // of this process's clock; zero means none
	Attempts    int       // runs that may lose their server
	trace.Propagation
	Hook   *Hook  // nil means no webhook is sent at its end
	Reply  string // the subject of a member that waits for it; see live.Live
	Waiter string // the subject of a member whose client waits for the end: when it is gone, the job is canceled
	// NotifyStartAfter is how long the job must have run before the member that waits for it is told that it has
	// started.
	NotifyStartAfter time.Duration

	Digest string // identifies its input; "" means it is not known
	// Version of the model that runs it; "" means the server that takes it chooses one.
	Version string

	Token string // a random token of this use of the id
}

// The headers of a job's message. Its token is the message's id: a job whose id was used before must not be taken for a
// duplicate of the earlier one.
const (
	HeaderToken       = nats.MsgIdHdr
	HeaderID          = "Pinion-Id"
	HeaderKind        = "Pinion-Kind"
	headerSchema      = "Pinion-Rev"
	HeaderDeadline    = "Pinion-Deadline" // milliseconds since 1970, by the clock of NATS
	HeaderAttempts    = "Pinion-Attempts"
	HeaderBody        = "Pinion-Body"    // obj/KEY: the body is an object
	HeaderState       = "Pinion-State"   // the job's first state: its revision, a space, the state as it is stored
	HeaderReason      = "Pinion-Reason"  // of a dead letter
	HeaderSubject     = "Pinion-Subject" // of a dead letter: its job's
	HeaderContentType = "Content-Type"
	HeaderReply       = "Pinion-Reply"
	headerWaiter      = "Pinion-Waiter"
	headerNotifyAfter = "Pinion-Notify-After" // milliseconds
	HeaderURL         = "Pinion-Webhook"
	headerVersion     = "Pinion-Version"
)

// Message returns a job's message.
func (j *Job) Message(subject string) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = j.Body
	set := func(name, value string) { Set(m.Header, name, value) }
	set(HeaderToken, j.Token)
	set(HeaderID, j.ID)
	set(HeaderKind, string(j.Kind))
	set(headerSchema, j.Schema)
	set(HeaderContentType, j.ContentType)
	set(HeaderReply, j.Reply)
	set(headerWaiter, j.Waiter)
	set(headerVersion, j.Version)
	setPropagation(m.Header, &j.Propagation)
	set(HeaderAttempts, strconv.Itoa(j.Attempts))
	if j.NotifyStartAfter > 0 {
		set(headerNotifyAfter, strconv.FormatInt(j.NotifyStartAfter.Milliseconds(), 10))
	}
	if !j.Deadline.IsZero() {
		set(HeaderDeadline, strconv.FormatInt(j.Deadline.UnixMilli(), 10))
	}
	return m
}

// setPropagation writes what a request propagates into headers.
func setPropagation(h nats.Header, p *trace.Propagation) {
	for i, value := range p.Values() {
		Set(h, trace.HeaderOf(i).Name, *value)
	}
}

// propagation is the reverse of setPropagation.
func propagation(h nats.Header) (p trace.Propagation) {
	for i, value := range p.Values() {
		*value = Get(h, trace.HeaderOf(i).Name)
	}
	return p
}

// MaxAttachedState is the largest state in bytes that goes into a message.
const MaxAttachedState = 4 << 10

// AttachState puts the first state of a job into its message, so that the first claim need not read it: the swap of the
// claim finds out whether it has moved. revision 0 means it is not known.
func AttachState(h nats.Header, revision uint64, text []byte) {
	if revision != 0 && len(text) <= MaxAttachedState {
		h.Set(HeaderState, strconv.FormatUint(revision, 10)+" "+string(text))
	}
}

// AttachedState is the reverse of attachState, or reports false if the message has no state that this member can read.
func (q *Store) AttachedState(h nats.Header) (s Stored, ok bool) {
	revision, text, _ := strings.Cut(h.Get(HeaderState), " ")
	var err error
	if s.Revision, err = strconv.ParseUint(revision, 10, 64); err != nil {
		return s, false
	}
	err = q.Decode([]byte(text), &s.State)
	return s, err == nil && s.Job == h.Get(HeaderToken)
}

// ReadJob reads a message. Its class and tenant are in the subject, and nothing asks for them afterwards.
func ReadJob(h nats.Header, body []byte) (Job, error) {
	j := Job{
		ID: Get(h, HeaderID), Kind: Kind(h.Get(HeaderKind)), Schema: h.Get(headerSchema), Body: body,
		ContentType: Get(h, HeaderContentType),
		Propagation: propagation(h), Token: h.Get(HeaderToken), Reply: h.Get(HeaderReply), Waiter: h.Get(headerWaiter),
		Version: h.Get(headerVersion),
	}
	var err error
	if j.Attempts, err = strconv.Atoi(h.Get(HeaderAttempts)); err != nil {
		return j, fmt.Errorf("read a job: %s is %.64q", HeaderAttempts, h.Get(HeaderAttempts))
	}
	if text := h.Get(HeaderDeadline); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return j, fmt.Errorf("read a job: %s is %.64q", HeaderDeadline, text)
		}
		j.Deadline = time.UnixMilli(ms)
	}
	if ms, err := strconv.ParseUint(h.Get(headerNotifyAfter), 10, 16); err == nil { // without it: at once
		j.NotifyStartAfter = time.Duration(ms) * time.Millisecond
	}
	switch {
	case j.ID == "" || j.Token == "":
		return j, fmt.Errorf("read a job: %s or %s is missing", HeaderID, HeaderToken)
	case j.Kind != Prediction && j.Kind != Training:
		return j, fmt.Errorf("read a job: %s is %.64q", HeaderKind, j.Kind)
	}
	return j, nil
}

// Status is where a job is.
type Status string

// The states; the last three are ends.
const (
	Starting   Status = "starting"
	Processing Status = "processing"
	Succeeded  Status = "succeeded"
	Failed     Status = "failed"
	Canceled   Status = "canceled"
)

// Ended reports whether s is an end.
func (s Status) Ended() bool { return s == Succeeded || s == Failed || s == Canceled }

// StatusMoves is the table of legal moves.
var StatusMoves = moves.Words[Status]{
	Starting:   {Starting, Processing, Canceled, Failed},
	Processing: {Processing, Starting, Succeeded, Failed, Canceled},
}

// stateVersion is the version of State. A state of a higher one is left to newer servers.
const stateVersion = 1

// State is what is known of a job. It outlives the job's message.
type State struct {
	Version int    `json:"v"`
	Job     string `json:"job"` // the token of the job's message
	Status  Status `json:"status"`
	Attempt int    `json:"attempt"`          // runs that have begun
	Lost    int    `json:"lost"`             // of these, runs whose server was lost
	Server  string `json:"server,omitempty"` // its owner; "" of an end that no server's run has brought
	Claim   string `json:"claim,omitempty"`  // the random token of the owner's claim
	Seq     uint64 `json:"seq,omitempty"`    // of the message that was claimed
	Cancel  bool   `json:"cancel,omitempty"` // a client canceled it while it ran
	Kind    Kind   `json:"kind,omitempty"`   // "" means Prediction
	// Deadline is the job's, in milliseconds since 1970 by the clock of NATS; 0 means none.
	Deadline int64 `json:"deadline,omitempty"`
	Hook     *Hook `json:"hook,omitempty"`    // the webhook of its end
	Yielded  bool  `json:"yielded,omitempty"` // the model yielded the items of its output
	// ModelVersion is the version of the model that the job names, or that runs it; "" means neither.
	ModelVersion string `json:"version,omitempty"`
	// Digest identifies the input, for a request that is repeated after the end; nil means it is not known.
	Digest []byte `json:"digest,omitempty"`
	// Prediction is the object that clients see, secrets redacted; or {"obj":KEY}, if it is an object.
	Prediction json.RawMessage `json:"prediction"`

	Unknown map[string]json.RawMessage `json:"-"` // members that a newer server wrote; they are kept
	Result  Result                     `json:"-"` // whose object Prediction is, if it was an object
}

// Release frees the memory of Prediction, which is not used afterwards.
func (s *State) Release() { s.Result.Release() }

// Hook is where the end of a job is posted to. It stands in the state too, because a member that cancels a job does not
// have its message.
type Hook struct {
	URL string `json:"url"`
	trace.Propagation
}

// Hook stores the webhook of a job's end. The job's token is the message's id: however often it is stored, it is sent
// once in two minutes.
func (q *Store) Hook(ctx context.Context, id string, s *State) error {
	if s.Hook == nil {
		return nil
	}
	m := nats.NewMsg("pinion.hook." + q.Options.Model + "." + Token(id))
	Set(m.Header, HeaderToken, s.Job)
	Set(m.Header, HeaderID, id)
	q.SetHook(m.Header, s.Hook)
	m.Data = q.Options.Keys.Seal(SealHook, s.Prediction) // an object is read when it is posted
	if _, err := q.Insert(ctx, m); err != nil {
		return fmt.Errorf("store a webhook: %w", err)
	}
	return nil
}

// Renderer makes the object that clients see.
type Renderer interface {
	// RenderStarted returns the object of a job that begins to run.
	RenderStarted(*Job, *State) json.RawMessage
	// RenderEnded returns the object of a job that ended without a run, with that status and error.
	RenderEnded(*Job, *State, Status, string) json.RawMessage
}

// PastDeadline is the error of a job whose deadline passed before it ran.
const PastDeadline = "the deadline passed while the prediction waited"

// SetHook writes the webhook of a job's end into headers.
func (q *Store) SetHook(h nats.Header, hook *Hook) {
	Set(h, HeaderURL, q.Options.Keys.sealText(hook.URL))
	setPropagation(h, &hook.Propagation)
}

// ReadHook is the reverse of setHook, or returns nil if there is none.
func (q *Store) ReadHook(h nats.Header) (*Hook, error) {
	text := Get(h, HeaderURL)
	if text == "" {
		return nil, nil
	}
	address, err := q.Options.Keys.openText(text)
	if err != nil {
		return nil, fmt.Errorf("read a webhook: %w", err)
	}
	return &Hook{URL: address, Propagation: propagation(h)}, nil
}
