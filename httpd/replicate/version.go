package replicate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// versions are the ids of the models' versions. An id is a SHA-256 of the name, with the version where there are
// several, and the document: servers with the same model agree on it, and it changes with the model's signature.
type versions struct {
	mu    sync.Mutex
	known map[string]version // by name
}

// version is a model's version, made from the document that the model had then.
type version struct {
	id       string
	document []byte
	created  time.Time // when this server first saw it
}

// of returns a model's version, or false if it has no document before it is loaded.
func (v *versions) of(m *protocol.Model) (version, bool) {
	document, ok := m.OpenAPI()
	if !ok {
		return version{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.known[m.Name]; ok && len(known.document) == len(document) && &known.document[0] == &document[0] {
		return known, true
	}
	sum := sha256.New()
	sum.Write([]byte(m.Name + "\n"))
	sum.Write(document)
	made := version{id: hex.EncodeToString(sum.Sum(nil)), document: document, created: time.Now()}
	if known, ok := v.known[m.Name]; ok && known.id == made.id {
		made.created = known.created
	}
	v.known[m.Name] = made
	return made, true
}

// idOf returns the id of a model's version, or "" if not known yet.
func (v *versions) idOf(m *protocol.Model) string {
	known, _ := v.of(m)
	return known.id
}

// named finds the model OWNER/NAME, or else the model NAME.
func (h *handlers) named(owner, name string) (*protocol.Model, *protocol.Error) {
	if m, err := h.models.Find(owner+"/"+name, ""); err == nil {
		return m, nil
	}
	return h.models.Find(name, "")
}

// ofVersion finds the model that the version of a request means: OWNER/NAME, OWNER/NAME:ID, the name of a model, or an
// id. A server with one model answers for any id; other is then the id that was asked for.
func (h *handlers) ofVersion(text string) (m *protocol.Model, other string, err *protocol.Error) {
	ref, id, hasID := strings.Cut(text, ":")
	if owner, name, ok := strings.Cut(ref, "/"); ok {
		if m, err = h.named(owner, name); err == nil && hasID {
			m, other = h.ofID(m, id)
		}
		return m, other, err
	}
	list := h.models.List()
	for _, m := range list {
		for _, v := range versionsOf(m) {
			if h.versions.idOf(v) == text || v.Name == text {
				return v, "", nil
			}
		}
	}
	if len(list) == 1 && isVersionID(text) {
		return list[0], text, nil
	}
	return nil, "", protocol.Errorf(protocol.BadInput, "unknown version %q: this server has %s",
		logtext.Clip(text), h.versionList(list))
}

// versionsOf returns a model, and its versions if it has several.
func versionsOf(m *protocol.Model) []*protocol.Model {
	list := []*protocol.Model{m}
	if m.Versions != nil {
		list = append(list, m.Versions()...)
	}
	return list
}

// ofID returns the version of a model that has an id. If none has it, the model answers, and other is the id.
func (h *handlers) ofID(m *protocol.Model, id string) (of *protocol.Model, other string) {
	for _, v := range versionsOf(m) {
		if id != "" && h.versions.idOf(v) == id {
			return v, ""
		}
	}
	return m, id
}

// isVersionID reports whether a text has the form of Replicate's ids.
func isVersionID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2*sha256.Size
}

func (h *handlers) versionList(list []*protocol.Model) string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = fullName(m)
		if id := h.versions.idOf(m); id != "" {
			names[i] += ":" + id
		}
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// fullName returns a model's OWNER/NAME.
func fullName(m *protocol.Model) string {
	if strings.Contains(m.Name, "/") {
		return m.Name
	}
	return owner + "/" + m.Name
}

// owner is the owner of a model whose name has none.
const owner = "pinion"

// find finds the model of a request's path.
func (h *handlers) find(x *protocol.Exchange) *protocol.Model {
	m, err := h.named(x.Param("owner"), x.Param("name"))
	if err != nil {
		refuse(x.RequestCtx, err)
		return nil
	}
	return m
}

// model answers with a model. The answer also has the members that clients of OpenAI and KServe read: they use the same
// path for a model whose name has a slash.
func (h *handlers) model(x *protocol.Exchange) {
	m := h.find(x)
	if m == nil {
		return
	}
	full := fullName(m)
	owner, name, _ := strings.Cut(full, "/")
	dst := appendMember([]byte("{"), "url", x.Jobs().Address(x.RequestCtx)+"/docs")
	dst = appendMember(append(dst, ','), "owner", owner)
	dst = appendMember(append(dst, ','), "name", name)
	dst = append(dst, `,"description":null,"visibility":"private","github_url":null,"paper_url":null,"license_url":null,`+
		`"run_count":0,"cover_image_url":null,"default_example":null,"latest_version":`...)
	created := int64(0)
	if v, ok := h.versions.of(m); ok {
		created = v.created.Unix()
		dst = h.appendVersion(dst, v)
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendMember(append(dst, ','), "id", m.Name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","owned_by":"pinion","created":`...), created, 10)
	dst = strconv.AppendBool(append(dst, `,"ready":`...), m.Ready() == nil)
	x.Send(contentJSON, append(dst, '}'))
}

func (h *handlers) appendVersion(dst []byte, v version) []byte {
	dst = appendMember(append(dst, '{'), "id", v.id)
	dst = appendMember(append(dst, ','), "created_at", timestamp(v.created))
	dst = appendMember(append(dst, ','), "cog_version", h.o.CogVersion)
	dst = append(append(dst, `,"openapi_schema":`...), v.document...)
	return append(dst, '}')
}

// listVersions answers with the versions of a model.
func (h *handlers) listVersions(x *protocol.Exchange) {
	m := h.find(x)
	if m == nil {
		return
	}
	dst := []byte(`{"next":null,"previous":null,"results":[`)
	for _, of := range versionsOf(m) {
		if v, ok := h.versions.of(of); ok {
			dst = rawjson.Comma(dst, dst[len(dst)-1] == '}')
			dst = h.appendVersion(dst, v)
		}
	}
	x.Send(contentJSON, append(dst, "]}"...))
}

// version answers with a model's version for every id that a client sends: see ofVersion.
func (h *handlers) version(x *protocol.Exchange) {
	m := h.find(x)
	if m == nil {
		return
	}
	m, other := h.ofID(m, x.Param("version"))
	v, ok := h.versions.of(m)
	if !ok {
		refuse(x.RequestCtx, protocol.ErrorOf(notReady(m)))
		return
	}
	h.warnVersion(x, m, other)
	x.Send(contentJSON, h.appendVersion(nil, v))
}

// notReady returns why a model has no document.
func notReady(m *protocol.Model) error {
	if err := m.Ready(); err != nil {
		return err
	}
	return &predict.NotReadyError{Reason: "the model has no schema before it is loaded"}
}

// warnVersion tells a client that another version of the model answers than the one it asked for.
func (h *handlers) warnVersion(x *protocol.Exchange, m *protocol.Model, wanted string) {
	if has := h.versions.idOf(m); wanted != "" && wanted != has {
		text := "this server has version " + has + " of " + m.Name + ", not the requested one"
		x.Response.Header.Set(protocol.HeaderWarning, text)
	}
}

// deployment answers with a model as a deployment of itself.
func (h *handlers) deployment(x *protocol.Exchange) {
	m := h.find(x)
	if m == nil {
		return
	}
	v, ok := h.versions.of(m)
	if !ok {
		refuse(x.RequestCtx, protocol.ErrorOf(notReady(m)))
		return
	}
	dst := appendMember([]byte("{"), "owner", x.Param("owner"))
	dst = appendMember(append(dst, ','), "name", x.Param("name"))
	dst = appendMember(append(dst, `,"current_release":{"number":1,`...), "model", fullName(m))
	dst = appendMember(append(dst, ','), "version", v.id)
	dst = appendMember(append(dst, ','), "created_at", timestamp(v.created))
	dst = append(dst, `,"created_by":{"type":"organization","username":"pinion","name":"pinion","github_url":null},`+
		`"configuration":{"hardware":"local","min_instances":1,"max_instances":1}}}`...)
	x.Send(contentJSON, dst)
}

// textOf returns the text of a member of a request, or false if it is of another type.
func textOf(value []byte) (string, bool) {
	if value == nil || rawjson.KindOf(value) == rawjson.KindNull {
		return "", true
	}
	if rawjson.KindOf(value) != rawjson.KindString || len(value) > maxReference {
		return "", false
	}
	return rawjson.Text(value), true
}

// maxReference is how many bytes of JSON the version of a request may have.
const maxReference = 2000

// timestamp returns a time as the API has it.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
