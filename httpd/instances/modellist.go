package instances

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

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
		{Method: fasthttp.MethodGet, Path: "/v1/models", Handle: l.all},
		{Method: fasthttp.MethodGet, Path: "/v1/models/{model}", Handle: l.one},
	}
}

func (l *list) all(x *protocol.Exchange) {
	body, names := []byte(`{"object":"list","data":[`), []byte(`],"models":[`)
	for i, m := range l.models.List() {
		if i > 0 {
			body, names = append(body, ','), append(names, ',')
		}
		body = l.append(body, m)
		names = rawjson.AppendQuoted(names, m.Name)
	}
	x.Send("application/json", nil, append(append(body, names...), "]}"...))
}

func (l *list) one(x *protocol.Exchange) {
	m, err := l.models.Find(x.Param("model"), "")
	if err != nil {
		l.refuse(x.RequestCtx, err)
		return
	}
	x.Send("application/json", nil, l.append(nil, m))
}

func (l *list) append(dst []byte, m *protocol.Model) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"id":`...), m.Name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), l.began, 10)
	dst = rawjson.AppendQuoted(append(dst, `,"owned_by":"pinion","name":`...), m.Name)
	return append(strconv.AppendBool(append(dst, `,"ready":`...), m.Ready() == nil), '}')
}
