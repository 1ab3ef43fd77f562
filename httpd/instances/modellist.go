package instances

import (
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// predictSuffix follows a model's name in the path of KServe's predictions, which the path of a model matches too.
const predictSuffix = ":predict"

// list answers for some models.
type list struct {
	models protocol.Models
	refuse func(*fasthttp.RequestCtx, *protocol.Error)
	began  int64 // when the server began, in seconds since 1970: models have no other time of creation
}

// ModelListRoutes returns the routes. refuse answers with an error in the protocol's shape.
func ModelListRoutes(models protocol.Models, refuse func(*fasthttp.RequestCtx, *protocol.Error)) []protocol.Route {
	l := &list{models, refuse, time.Now().Unix()}
	return []protocol.Route{
		{Method: fasthttp.MethodGet, Path: "/v1/models", Handle: l.allModels},
		{Method: fasthttp.MethodGet, Path: "/v1/models/{model}", Handle: l.oneModel},
	}
}

func (l *list) allModels(x *protocol.Exchange) {
	if forAnthropic(x) {
		l.allForAnthropic(x)
		return
	}
	body, names := []byte(`{"object":"list","data":[`), []byte(`],"models":[`)
	for i, m := range l.models.List() {
		if i > 0 {
			body, names = append(body, ','), append(names, ',')
		}
		body = l.append(body, m)
		names = rawjson.AppendQuoted(names, m.Name)
	}
	x.Send("application/json", append(append(body, names...), "]}"...))
}

func (l *list) oneModel(x *protocol.Exchange) {
	name := x.Param("model")
	m, err := l.models.Find(name, "")
	if called, ok := strings.CutSuffix(name, predictSuffix); ok && err != nil {
		if _, unknown := l.models.Find(called, ""); unknown == nil {
			x.Response.Header.Set(fasthttp.HeaderAllow, fasthttp.MethodPost)
			err = protocol.Errorf(protocol.BadMethod, "%s does not take %s", logtext.Clip(string(x.Path())), x.Method())
		}
	}
	if err != nil {
		l.refuse(x.RequestCtx, err)
		return
	}
	if forAnthropic(x) {
		x.Send("application/json", l.appendForAnthropic(nil, m))
		return
	}
	x.Send("application/json", l.append(nil, m))
}

func (l *list) append(dst []byte, m *protocol.Model) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"id":`...), m.Name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), l.began, 10)
	dst = rawjson.AppendQuoted(append(dst, `,"owned_by":"pinion","name":`...), m.Name)
	return append(strconv.AppendBool(append(dst, `,"ready":`...), m.Ready() == nil), '}')
}

// forAnthropic reports whether a client of Anthropic asks: its list has another form at the same path.
func forAnthropic(x *protocol.Exchange) bool {
	return len(x.Request.Header.Peek("Anthropic-Version")) > 0
}

func (l *list) allForAnthropic(x *protocol.Exchange) {
	body, first, last := []byte(`{"data":[`), "", ""
	for i, m := range l.models.List() {
		if i > 0 {
			body = append(body, ',')
		} else {
			first = m.Name
		}
		last = m.Name
		body = l.appendForAnthropic(body, m)
	}
	body = rawjson.AppendQuoted(append(body, `],"has_more":false,"first_id":`...), first)
	body = rawjson.AppendQuoted(append(body, `,"last_id":`...), last)
	x.Send("application/json", append(body, '}'))
}

func (l *list) appendForAnthropic(dst []byte, m *protocol.Model) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"type":"model","id":`...), m.Name)
	dst = rawjson.AppendQuoted(append(dst, `,"display_name":`...), m.Name)
	dst = append(dst, `,"created_at":"`...)
	return append(time.Unix(l.began, 0).UTC().AppendFormat(dst, time.RFC3339), `"}`...)
}
