package request

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/egress"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// eventNames are the webhook events, as a message shows them.
const eventNames = `["start","output","logs","completed"]`

// ErrEmpty means that a request with a JSON content type has an empty body.
var ErrEmpty = predict.Refused(predict.RefusedBody,
	"invalid JSON at byte 0: the body is empty; send {}, or leave the Content-Type away")

// envelope is the raw value of each known key of a request's body; nil if the key is absent or null.
type envelope struct {
	context, created, id, input, prefix, webhook, webhookEvents []byte
	inputAt                                                     int // offset of input in the body
	unknown                                                     *predict.UnknownKeys
}

// ReadJSON reads the body of a create request into req, which then aliases it. claimed means that the request has a
// content type. The error is a *rawjson.SyntaxError, ErrEmpty or a *predict.ValidationError.
func ReadJSON(req *predict.Request, body []byte, claimed bool) error {
	if len(body) == 0 {
		if claimed {
			return ErrEmpty
		}
		body = []byte("{}")
	}
	lists, err := rawjson.CheckLists(body)
	if err != nil {
		return err
	}
	return readObject(req, body, lists)
}

// readObject reads the body of a create request that is valid JSON, with these lists in it.
func readObject(req *predict.Request, body []byte, lists rawjson.Lists) error {
	if rawjson.KindOf(body) != rawjson.KindObject {
		var bad Problems
		bad.Add(Quote(bytes.Trim(body, " \t\r\n"))+` is not of type "object"`, "body")
		return bad.Err()
	}
	var e envelope
	members := rawjson.ObjectWith(body, lists)
	for key, value, ok := members.Next(); ok; key, value, ok = members.Next() {
		e.set(key, value, members.Offset()) // the last of equal keys wins
	}
	return e.fill(req, lists)
}

// fill writes what the envelope has into a request. lists are those of the body.
func (e *envelope) fill(req *predict.Request, lists rawjson.Lists) error {
	var bad Problems
	// In the order of the names, because problems are reported in that order.
	if bad.want("context", e.context, rawjson.KindObject) {
		bad.checkStrings("context", e.context)
		req.Context = e.context
	}
	if bad.want("id", e.id, rawjson.KindString) {
		req.ID = bad.readID(e.id)
	}
	if req.Input, req.Lists = e.input, lists.From(e.inputAt); e.input == nil {
		req.Input, req.Lists = []byte("{}"), rawjson.Lists{}
	}
	if rawjson.KindOf(req.Input) != rawjson.KindObject { // the input as a whole is a field too
		bad.addKind(req.Input, rawjson.KindObject, "body", "input", "__root__")
	}
	req.OutputPrefix = bad.readURL("output_file_prefix", e.prefix)
	req.Webhook = bad.readURL("webhook", e.webhook)
	events := predict.AllEvents
	if bad.want("webhook_events_filter", e.webhookEvents, rawjson.KindArray) {
		events = bad.readEvents("webhook_events_filter", e.webhookEvents)
	}
	if req.Webhook != "" {
		req.WebhookEvents = events
	}
	req.Created, req.CreatedText = readTime(e.created)
	req.UnknownKeys = e.unknown
	return bad.Err()
}

// set stores a member if its key is known. at is the offset of its value.
func (e *envelope) set(key, value []byte, at int) {
	if rawjson.KindOf(value) == rawjson.KindNull {
		value = nil
	}
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(rawjson.Name(key))
	}
	switch string(key) {
	case "id":
		e.id = value
	case "input":
		e.input, e.inputAt = value, at
	case "context":
		e.context = value
	case "created_at":
		e.created = value
	case "output_file_prefix":
		e.prefix = value
	case "webhook":
		e.webhook = value
	case "webhook_events_filter":
		e.webhookEvents = value
	case "version", "model", "stream", "status", "source", "urls", "output", "error", "logs", "metrics", "started_at",
		"completed_at",
		"data_removed": // a prediction object's, or Replicate's clients send it
	default:
		if e.unknown == nil {
			e.unknown = &predict.UnknownKeys{Place: "input", Known: []string{
				"id", "input", "context", "created_at", "output_file_prefix", "webhook", "webhook_events_filter",
			}}
		}
		e.unknown.Add(key)
	}
}

// Limits of a member of the envelope, in bytes of JSON: its text is a copy, which is not charged to the memory
// budget.
const (
	maxTime  = 200
	maxURL   = 16 << 10
	maxEvent = 64
	// maxRawID is more than maxID characters have, of which each may be two escapes.
	maxRawID = 12*(maxID+1) + 2
)

// readTime reads a created_at, and returns its text too. By the contract, a value that is not an RFC 3339 time, or
// cannot be written as one in UTC, is ignored.
func readTime(raw []byte) (time.Time, string) {
	var t time.Time
	if rawjson.KindOf(raw) != rawjson.KindString || len(raw) > maxTime {
		return time.Time{}, ""
	}
	text := rawjson.Text(raw)
	// The grammar allows lower case, which Go's parser does not.
	if t.UnmarshalText([]byte(strings.ToUpper(text))) != nil {
		return time.Time{}, ""
	}
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, ""
	}
	return t, text
}

// want reports whether a value is present and of its kind. Another kind is a problem.
func (p *Problems) want(name string, value []byte, kind rawjson.Kind) bool {
	if value == nil {
		return false
	}
	if rawjson.KindOf(value) == kind {
		return true
	}
	p.addKind(value, kind, "body", name)
	return false
}

func (p *Problems) addKind(value []byte, want rawjson.Kind, loc ...string) {
	p.Add(Quote(value)+` is not of type "`+want.String()+`"`, loc...)
}

func (p *Problems) readID(raw []byte) string {
	id := rawjson.Text(raw[:min(len(raw), maxRawID)])
	p.CheckID(id, func() string { return Quote(raw) }, "body", "id")
	return id
}

// readURL reads a URL that the server will call. "" means absent, or empty, as some clients send it.
func (p *Problems) readURL(name string, raw []byte) string {
	if !p.want(name, raw, rawjson.KindString) {
		return ""
	}
	if len(raw) > maxURL {
		p.Add(predict.RedactCredentials(Quote(raw))+" is longer than "+strconv.Itoa(maxURL)+" bytes", "body", name)
		return ""
	}
	text := rawjson.Text(raw)
	if text == "" {
		return ""
	}
	if u, err := url.Parse(text); err != nil || !egress.Sendable(u) {
		p.Add(predict.RedactCredentials(Quote(raw))+" is not an http or https URL", "body", name)
		return ""
	}
	return text
}

const (
	// maxKey is how long a key may be that a later member can replace, in bytes; rawjson.Name reads more.
	maxKey = 1000
	// maxFaults bounds the members that are kept until a later one may replace them.
	maxFaults = 10_000
)

// checkStrings requires each member of object to be a string. Of equal keys the last counts.
func (p *Problems) checkStrings(name string, object []byte) {
	type fault struct {
		key   string
		value []byte // nil means a later member is a string
	}
	var faults []fault
	var at map[string]int // made for the first fault, so that valid requests pay nothing
	members := rawjson.Object(object)
	for key, value, ok := members.Next(); ok && len(faults) < maxFaults; key, value, ok = members.Next() {
		isString := rawjson.KindOf(value) == rawjson.KindString
		if long := len(key) > maxKey; isString && (at == nil || long) {
			continue
		} else if long {
			faults = append(faults, fault{rawjson.Name(key), value})
			continue
		}
		text := rawjson.KeyText(key)
		i, known := at[text]
		switch {
		case isString && known:
			faults[i].value = nil
		case isString:
		case known:
			faults[i].value = value
		default:
			if at == nil {
				at = make(map[string]int)
			}
			at[text] = len(faults)
			faults = append(faults, fault{text, value})
		}
	}
	if len(faults) == maxFaults { // all of them may have been replaced
		p.Add("more than "+strconv.Itoa(maxFaults-1)+" members are not strings", "body", name)
	}
	for _, f := range faults {
		if f.value == nil {
			continue
		}
		if len(*p) >= maxProblems {
			return
		}
		p.Add(Quote(f.value)+` is not of type "string"`, "body", name, clip(f.key))
	}
}

// readEvents requires each item of array to be the name of an event, and collects them.
func (p *Problems) readEvents(name string, array []byte) predict.Events {
	var events predict.Events
	items := rawjson.Array(array)
	for i := 0; ; i++ {
		item, ok := items.Next()
		if !ok || len(*p) >= maxProblems {
			return events
		}
		if event := eventNamed(item); event != 0 {
			events |= event
		} else {
			p.Add(Quote(item)+` is not one of `+eventNames, "body", name+"/"+strconv.Itoa(i))
		}
	}
}

// eventNamed returns the event that a JSON value names, or 0.
func eventNamed(item []byte) predict.Events {
	if rawjson.KindOf(item) != rawjson.KindString || len(item) > maxEvent {
		return 0
	}
	switch rawjson.Text(item) {
	case "start":
		return predict.OnStart
	case "output":
		return predict.OnOutput
	case "logs":
		return predict.OnLogs
	case "completed":
		return predict.OnCompleted
	}
	return 0
}
