package loadgen

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/rawjson"
)

func (g *generator) prepare() (*fasthttp.Request, *fasthttp.Response) {
	request := &fasthttp.Request{}
	request.SetRequestURI(g.URL)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType("application/json")
	request.SetBodyRaw(g.Body)
	return request, &fasthttp.Response{}
}

// classify returns how long the model had the prediction of an answer, or else what failed.
func classify(response *fasthttp.Response, err error) (predicted time.Duration, failure string) {
	switch {
	case errors.Is(err, fasthttp.ErrConnectionClosed):
		return 0, "no answer: the server closed the connection"
	case err != nil:
		return 0, fmt.Sprintf("no answer: %v", err)
	case response.StatusCode() != fasthttp.StatusOK:
		return 0, fmt.Sprintf("HTTP status %d", response.StatusCode())
	}
	return Read(response.Body())
}

// Read returns what a prediction object says: the time in the model, or what failed. An endpoint that answers with
// something else has succeeded: it may be another server's.
func Read(body []byte) (predicted time.Duration, failure string) {
	if rawjson.KindOf(body) != rawjson.KindObject {
		return 0, ""
	}
	for key, value := range rawjson.Members(body) {
		switch {
		case rawjson.KeyIs(key, "status") && rawjson.KindOf(value) == rawjson.KindString:
			if status := rawjson.Text(value); status != "succeeded" {
				failure = "the prediction " + status
			}
		case rawjson.KeyIs(key, "metrics") && rawjson.KindOf(value) == rawjson.KindObject:
			predicted = predictTime(value)
		}
	}
	return predicted, failure
}

func predictTime(metrics []byte) time.Duration {
	for key, value := range rawjson.Members(metrics) {
		if !rawjson.KeyIs(key, "predict_time") {
			continue
		}
		seconds, _ := strconv.ParseFloat(string(value), 64) // 0 if it is not a number
		return time.Duration(seconds * float64(time.Second))
	}
	return 0
}
