package replicate

import (
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

const streamPath = "/v1/streams/"

// createOfVersion answers POST /v1/predictions, whose body names the version.
func (h *handlers) createOfVersion(x *protocol.Exchange) {
	body, members, err := readBody(x)
	var m *protocol.Model
	var other string
	if err == nil {
		if m, other, err = h.modelOf(members); err != nil {
			body.Release()
		}
	}
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	h.create(x, m, body, members, other)
}

// modelOf finds the model that the members of a request mean: its version, or else its model.
func (h *handlers) modelOf(members members) (*protocol.Model, string, *protocol.Error) {
	text, ok := textOf(members.version)
	if ok && text == "" {
		text, ok = textOf(members.model)
	}
	switch {
	case !ok:
		return nil, "", invalid("version", "must be a string: an id, OWNER/NAME or OWNER/NAME:ID")
	case text == "":
		return nil, "", invalid("version", "is required: an id, OWNER/NAME or OWNER/NAME:ID")
	}
	return h.ofVersion(text)
}

// createOfModel answers a POST whose path names the model or the deployment.
func (h *handlers) createOfModel(x *protocol.Exchange) {
	m := h.find(x)
	if m == nil {
		return
	}
	m, other := h.ofID(m, x.Param("version"))
	body, members, err := readBody(x)
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	h.create(x, m, body, members, other)
}

// create creates a prediction. other is the version that the request asks for, if the model has another one.
func (h *handlers) create(x *protocol.Exchange, m *protocol.Model, body protocol.Body, members members, other string) {
	if _, ok := m.LoadOpenAPI(); !ok {
		body.Release()
		refuse(x.RequestCtx, protocol.ErrorOf(notReady(m)))
		return
	}
	id, _ := textOf(members.id)
	if err := h.checkID(x, m, id); err != nil {
		body.Release()
		refuse(x.RequestCtx, err)
		return
	}
	call := protocol.JobCall{Members: func(id string) []byte { return h.membersOf(x, m, id) }}
	if err := h.attach(x, m, &body, members.input, &call); err != nil {
		body.Release()
		refuse(x.RequestCtx, err)
		return
	}
	call.Body = body
	job, err := x.Jobs().CreateJob(x.RequestCtx, m, call)
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	h.warnVersion(x, m, other)
	h.answer(x, m, job)
	status := fasthttp.StatusCreated
	if job.Status == predict.Starting.String() && len(x.Request.Header.Peek("Prefer")) > 0 {
		status = fasthttp.StatusAccepted // the wait was too short
	}
	x.SetStatusCode(status)
}

// get answers GET of a prediction.
func (h *handlers) get(x *protocol.Exchange) {
	id := x.Param("id")
	m, job, err := h.lookUp(x, id)
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	h.answer(x, m, job)
}

// lookUp finds a prediction of any model. Several models may have one of that id, because clients choose ids: that of
// this API counts, and else none does, so that no client gets another's.
func (h *handlers) lookUp(x *protocol.Exchange, id string) (m *protocol.Model, job protocol.Job, err *protocol.Error) {
	twice := false
	for _, other := range h.models.List() {
		found, ok, failed := x.Jobs().FindJob(other, id)
		switch {
		case failed != nil:
			err = failed
		case !ok:
		case m == nil:
			m, job = other, found
		case found.Bare == job.Bare:
			twice = true
			found.Free()
		case found.Bare:
			found.Free()
		default:
			job.Free()
			m, job, twice = other, found, false
		}
	}
	switch {
	case twice:
		job.Free()
		return nil, protocol.Job{}, protocol.Errorf(protocol.Conflict, "several models have a prediction %q: "+
			"GET /models/NAME/predictions/ID of the one that you mean", logtext.Clip(id))
	case m != nil:
		return m, job, nil
	case err != nil:
		return nil, protocol.Job{}, err
	}
	return nil, protocol.Job{}, notFound("prediction", id)
}

// modelWith returns the model that has a prediction.
func (h *handlers) modelWith(x *protocol.Exchange, id string) (*protocol.Model, *protocol.Error) {
	m, job, err := h.lookUp(x, id)
	job.Free()
	return m, err
}

// checkID refuses the id of another model's prediction for one of m: no request for that id could tell them apart.
func (h *handlers) checkID(x *protocol.Exchange, m *protocol.Model, id string) *protocol.Error {
	if id == "" {
		return nil
	}
	other, err := h.modelWith(x, id)
	if err != nil && err.Kind == protocol.Unknown ||
		err == nil && strings.TrimSuffix(m.Name, "@"+m.Version) == other.Name {
		return nil
	}
	if err == nil {
		err = protocol.Errorf(protocol.Conflict, "another model has a prediction %q: use another id", logtext.Clip(id))
	}
	return err
}

// cancel cancels a prediction, and answers with it. One that has ended stays as it is.
func (h *handlers) cancel(x *protocol.Exchange) {
	id := x.Param("id")
	m, err := h.modelWith(x, id)
	if err == nil {
		_, err = x.Jobs().CancelJob(m, id)
	}
	if err != nil {
		refuse(x.RequestCtx, err)
		return
	}
	h.get(x)
}

// answer answers with a prediction.
func (h *handlers) answer(x *protocol.Exchange, m *protocol.Model, job protocol.Job) {
	o := job.Object
	if !job.Bare {
		job.Send(x, contentJSON, o[:]...)
		return
	}
	last := len(o) - 1
	for len(o[last]) == 0 {
		last--
	}
	o[last] = o[last][:len(o[last])-1] // without the bracket
	job.Send(x, contentJSON, o[0], o[1], o[2], h.membersOf(x, m, job.ID), []byte("}"))
}

// membersOf returns what a prediction object has beside that of the native API.
func (h *handlers) membersOf(x *protocol.Exchange, m *protocol.Model, id string) []byte {
	jobs := x.Jobs()
	address, path := jobs.Address(x.RequestCtx), "/v1/predictions/"+url.PathEscape(id)
	dst := appendMember([]byte(","), "model", fullName(m))
	dst = appendMember(append(dst, ','), "version", h.versions.idOf(m))
	dst = append(dst, `,"source":"api","data_removed":false,"urls":{`...)
	dst = appendMember(dst, "get", address+path)
	dst = appendMember(append(dst, ','), "cancel", address+path+"/cancel")
	if s, err := m.Description(); err == nil && s.Iterator {
		dst = appendMember(append(dst, ','), "stream", address+signed(jobs, streamPath+url.PathEscape(id)))
	}
	return append(dst, '}')
}

// members are the members of a request's body that this package reads.
type members struct{ version, model, input, id []byte }

// readBody reads the body of a request, an object.
func readBody(x *protocol.Exchange) (body protocol.Body, m members, err *protocol.Error) {
	if body, err = x.Body(); err != nil {
		return body, m, err
	}
	if failed := rawjson.Check(body.Data); failed != nil {
		err = protocol.ErrorOf(failed)
		if text := x.NotJSON(body.Data); text != "" {
			err = protocol.Errorf(protocol.BadInput, "%s", text)
		}
	} else if rawjson.KindOf(body.Data) != rawjson.KindObject {
		err = protocol.Errorf(protocol.BadInput, "the body must be a JSON object")
	}
	if err != nil {
		body.Release()
		return protocol.Body{}, m, err
	}
	for key, value := range rawjson.Members(body.Data) {
		switch {
		case rawjson.KeyIs(key, "version"):
			m.version = value
		case rawjson.KeyIs(key, "model"):
			m.model = value
		case rawjson.KeyIs(key, "input"):
			m.input = value
		case rawjson.KeyIs(key, "id"):
			m.id = value
		}
	}
	return body, m, nil
}

// invalid returns the error of a member of the body.
func invalid(name, text string) *protocol.Error {
	return &protocol.Error{
		Kind: protocol.BadInput, Row: -1, Message: name + " " + text,
		Problems: []predict.Problem{{Loc: []string{"body", name}, Msg: text, Type: predict.TypeValue}},
	}
}
