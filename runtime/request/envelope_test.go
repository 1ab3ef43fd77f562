package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// readJSON is ReadJSON into a new request.
func readJSON(body []byte, claimed bool) (req predict.Request, err error) {
	err = ReadJSON(&req, body, claimed)
	return req, err
}

func unknown(names ...string) *predict.UnknownKeys {
	return &predict.UnknownKeys{Names: names, Place: "input", Known: []string{
		"id", "input", "context", "created_at", "output_file_prefix", "webhook", "webhook_events_filter",
	}}
}

func TestEnvelope_IsRead(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 0, 0, 500000000, time.UTC)
	for body, want := range map[string]predict.Request{
		``:      {Input: []byte(`{}`)},
		` { } `: {Input: []byte(`{}`)},
		`{"input":null,"id":null,"context":null,"webhook":null,"webhook_events_filter":null}`: {Input: []byte(`{}`)},
		`{"input": {"a" : 1} , "other":[],"version":"v"}`: {
			Input:       []byte(`{"a" : 1}`),
			UnknownKeys: unknown("other"),
		},
		`{"id":"a","id":"b"}`:                     {ID: "b", Input: []byte(`{}`)},
		`{"id":"a","id":null}`:                    {Input: []byte(`{}`)},
		`{"id":7,"id":"b"}`:                       {ID: "b", Input: []byte(`{}`)},
		`{"\u0069d":"a\ud83d\ude00"}`:             {ID: "a\U0001F600", Input: []byte(`{}`)},
		`{"ID":"a","Input":{"x":1}}`:              {Input: []byte(`{}`), UnknownKeys: unknown("ID", "Input")},
		`{"context":{"a":"b"}}`:                   {Context: []byte(`{"a":"b"}`), Input: []byte(`{}`)},
		`{"context":{"a":1,"\u0061":"b"}}`:        {Context: []byte(`{"a":1,"\u0061":"b"}`), Input: []byte(`{}`)},
		`{"created_at":"2024-02-29T12:00:00.5Z"}`: {Created: at, CreatedText: "2024-02-29T12:00:00.5Z", Input: []byte(`{}`)},
		`{"created_at":"2024-02-29t14:00:00.5+02:00"}`: {
			Created: at, CreatedText: "2024-02-29t14:00:00.5+02:00",
			Input: []byte(`{}`),
		},
		`{"created_at":"2023-02-29T12:00:00Z"}`:      {Input: []byte(`{}`)},
		`{"created_at":"9999-12-31T23:59:59-01:00"}`: {Input: []byte(`{}`)},
		`{"created_at":"0000-01-01T00:00:00+01:00"}`: {Input: []byte(`{}`)},
		`{"created_at":1700000000}`:                  {Input: []byte(`{}`)},
		`{"webhook":"https://x/","webhook_events_filter":["start","\u006cogs"]}`: {
			Webhook: "https://x/", WebhookEvents: predict.OnStart | predict.OnLogs, Input: []byte(`{}`),
		},
		`{"webhook":"http:\/\/u:p@[::1]:80/a?b#c"}`: {
			Webhook: "http://u:p@[::1]:80/a?b#c", WebhookEvents: predict.AllEvents, Input: []byte(`{}`),
		},
		`{"webhook":"HTTPS://x","webhook_events_filter":[]}`: {Webhook: "HTTPS://x", Input: []byte(`{}`)},
		`{"webhook":null,"webhook_events_filter":["start"]}`: {Input: []byte(`{}`)},
		`{"webhook":"http://x","webhook_events_filter":null}`: {
			Webhook: "http://x", WebhookEvents: predict.AllEvents, Input: []byte(`{}`),
		},
		`{"output_file_prefix":"https://x/up/"}`:             {OutputPrefix: "https://x/up/", Input: []byte(`{}`)},
		`{"id":"` + strings.Repeat("\U0001F600", 256) + `"}`: {ID: strings.Repeat("\U0001F600", 256), Input: []byte(`{}`)},
	} {
		got, err := readJSON([]byte(body), false)
		if err != nil {
			t.Errorf("%s: got %v, want no error", body, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

// TestEnvelope_ListsOfLastInput: of equal keys the last counts, and the lists that are known are those of that one.
func TestEnvelope_ListsOfLastInput(t *testing.T) {
	long := "[" + strings.Repeat("1.5,", 100) + "2]"
	other := `[["]",` + long + `],{"x":` + long + `},"` + strings.Repeat("]", 300) + `"]`
	for body, want := range map[string]string{
		`{"input":{"a":` + long + `}}`:                                `{"a":` + long + `}`,
		`{"id":"x", "input" : {"a":` + long + `,"b":1},"context":{}}`: `{"a":` + long + `,"b":1}`,
		`{"input":{"a":` + long + `},"input":{"a":` + other + `}}`:    `{"a":` + other + `}`,
		`{"input":{"a":` + long + `},"in\u0070ut":{"a":` + other + `,"b":` + long +
			`}}`: `{"a":` + other + `,"b":` + long + `}`,
		`{"input":{"a":` + long + `},"input":null}`:                       `{}`,
		`{"z":` + long + `,"input":{"a":` + other + `},"y":` + long + `}`: `{"a":` + other + `}`,
	} {
		req, err := readJSON([]byte(body), true)
		if err != nil || string(req.Input) != want {
			t.Errorf("%s: %s, %v, want %q", body, req.Input, err, want)
			continue
		}
		plain := rawjson.Object(req.Input)
		for known := rawjson.ObjectWith(req.Input, req.Lists); ; {
			key, value, ok := known.Next()
			wantKey, wantValue, wantOK := plain.Next()
			assert.True(t, ok == wantOK && string(key) == string(wantKey) && string(value) == string(wantValue),
				"%s: %s %s, want %s %s", body, key, value, wantKey, wantValue)
			if !wantOK {
				break
			}
			if end := known.Offset() + len(value); req.Lists.Is(known.Offset(), end) != (string(value) == long) {
				t.Errorf("%s: the list %s: got known %t, want it known only if it is long", body, value, string(value) != long)
			}
		}
	}
}

func TestEnvelope_IsRefused(t *testing.T) {
	problem := func(loc, msg string) string { return loc + ": " + msg }
	for body, want := range map[string][]string{
		`null`:                         {problem("body", `null is not of type "object"`)},
		`"x"`:                          {problem("body", `"x" is not of type "object"`)},
		`{"id":"b","id":7}`:            {problem("body.id", `7 is not of type "string"`)},
		`{"id":"a\u0000"}`:             {problem("body.id", `"a\u0000" does not match "^[^/\u0000-\u001f\u007f-\u009f]*$"`)},
		`{"id":"a\u007f"}`:             {problem("body.id", `"a\u007f" does not match "^[^/\u0000-\u001f\u007f-\u009f]*$"`)},
		`{"id":"\/"}`:                  {problem("body.id", `"\/" does not match "^[^/\u0000-\u001f\u007f-\u009f]*$"`)},
		`{"context":["a"]}`:            {problem("body.context", `["a"] is not of type "object"`)},
		`{"context":{"a":"b","a":{}}}`: {problem("body.context.a", `{} is not of type "string"`)},
		`{"context":{"b":1,"a":2,"b":3}}`: {
			problem("body.context.b", `3 is not of type "string"`), problem("body.context.a", `2 is not of type "string"`),
		},
		`{"webhook":" "}`:           {problem("body.webhook", `" " is not an http or https URL`)},
		`{"webhook":"ftp://x/"}`:    {problem("body.webhook", `"ftp://x/" is not an http or https URL`)},
		`{"webhook":"http:///a"}`:   {problem("body.webhook", `"http:///a" is not an http or https URL`)},
		`{"webhook":"http://:80/"}`: {problem("body.webhook", `"http://:80/" is not an http or https URL`)},
		`{"webhook":"http://x:0/"}`: {problem("body.webhook", `"http://x:0/" is not an http or https URL`)},
		`{"output_file_prefix":"http://x:65536"}`: {
			problem("body.output_file_prefix", `"http://x:65536" is not an http or https URL`),
		},
		`{"webhook":"http://a b/"}`:   {problem("body.webhook", `"http://a b/" is not an http or https URL`)},
		`{"webhook":7}`:               {problem("body.webhook", `7 is not of type "string"`)},
		`{"output_file_prefix":"/x"}`: {problem("body.output_file_prefix", `"/x" is not an http or https URL`)},
		`{"webhook_events_filter":[null]}`: {
			problem("body.webhook_events_filter/0", `null is not one of ["start","output","logs","completed"]`),
		},
		`{"webhook_events_filter":"start"}`: {problem("body.webhook_events_filter", `"start" is not of type "array"`)},
		`{"input":"` + strings.Repeat("a", 300) + `"}`: {
			problem("body.input.__root__", `"`+strings.Repeat("a", 199)+`… is not of type "object"`),
		},
		`{"input":"` + strings.Repeat("\U0001F600", 3000) + `"}`: {
			problem("body.input.__root__", `"`+strings.Repeat("\U0001F600", 199)+`… is not of type "object"`),
		},
	} {
		_, err := readJSON([]byte(body), false)
		var invalid *predict.ValidationError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: error %v, want a validation error", body, err)
			continue
		}
		var got []string
		for _, p := range invalid.Problems {
			got = append(got, problem(strings.Join(p.Loc, "."), p.Msg))
			assert.Equal(t, body+": type", p.Type, predict.TypeValue)
		}
		assert.True(t, reflect.DeepEqual(got, want), "%s:\ngot %q\nwant %q", body, got, want)
	}
}

func TestEnvelope_Syntax(t *testing.T) {
	for body, at := range map[string]int{
		"{\"a\":\"\xff\"}": 6, `{"a":"\ud800"}`: 6, "\xef\xbb\xbf{}": 0, `{}{}`: 2, `{"a":NaN}`: 5, `{`: 1, ` `: 1,
	} {
		_, err := readJSON([]byte(body), true)
		var syntax *rawjson.SyntaxError
		assert.True(t, errors.As(err, &syntax) && syntax.Offset == at, "%q: error %v, want a syntax error at %d", body, err, at)
	}
	_, err := readJSON(nil, true)
	assert.ErrorIs(t, "an empty body that claims to be JSON", err, ErrEmpty)
}

func TestEnvelope_ProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"context":{"k":1`)
	for i := range 5000 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	b.WriteString(`},"webhook_events_filter":[0`)
	b.WriteString(strings.Repeat(",0", 5000))
	b.WriteString(`]}`)
	_, err := readJSON([]byte(b.String()), true)
	var invalid *predict.ValidationError
	assert.True(t, errors.As(err, &invalid) && len(invalid.Problems) == maxProblems,
		"%T with %d Problems, want %d", err, len(invalid.Problems), maxProblems)
}

// TestEnvelope_LongMembers: what has megabytes is refused or ignored, and is not copied before.
func TestEnvelope_LongMembers(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	many := make([]string, 2*maxFaults)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	for body, want := range map[string]string{
		`{"created_at":"` + long + `"}`:                               "",
		`{"id":"` + long + `"}`:                                       "is longer than 256 characters",
		`{"webhook":"http://x/` + long + `"}`:                         "is longer than 16384 bytes",
		`{"output_file_prefix":"http://u:p@x/` + long + `"}`:          "is longer than 16384 bytes",
		`{"webhook_events_filter":["` + long + `"]}`:                  "is not one of",
		`{"context":{"` + long + `":1,"` + long + `":"s"}}`:           "is not of type",
		`{"context":{"` + long + `":"s","a":1,"a":"s"}}`:              "",
		`{"context":{` + strings.Join(many, ",") + `}}`:               "is not of type",
		`{"context":{"k":1,` + strings.Join(many, ",") + `,"k":"s"}}`: "more than 9999 members are not strings",
	} {
		raw := []byte(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readJSON(raw, true)
		runtime.ReadMemStats(&after)
		taken := after.TotalAlloc - before.TotalAlloc
		assert.True(t, taken <= 4<<20, "%.60s: reading it took %d bytes, want at most %d", body, taken, 4<<20)
		var invalid *predict.ValidationError
		switch {
		case want == "" && err != nil:
			t.Errorf("%.60s: %v, want no error", body, err)
		case want != "" && (!errors.As(err, &invalid) || !strings.Contains(fmt.Sprint(invalid.Problems), want)):
			t.Errorf("%.60s: %.300v, want %q", body, err, want)
		}
	}
}

func TestEnvelope_MediaTypes(t *testing.T) {
	for contentType, want := range map[string]bool{
		"": true, "application/json": true, "APPLICATION/Json ; charset=utf-8": true,
		"application/problem+json": true, "application/vnd.x.v1+JSON;q=1": true,
		"text/json": false, "application/jsonp": false, "application/+json": false, "application/a b+json": false,
		"application/x-www-form-urlencoded": false, "multipart/form-data; boundary=x": false, "json": false,
		"application/": false,
	} {
		assert.Equal(t, "IsJSON("+contentType, IsJSON([]byte(contentType)), want)
	}
}

// FuzzEnvelope holds ReadJSON against encoding/json: what it takes the other takes too, and they
// agree on what counts.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"id":"a","input":{"s":"x"}}`, `{"id":"a","\u0069d":null,"input":{"a":[1,2.5e3]}}`,
		`{"context":{"a":1,"a":"b"},"webhook_events_filter":["start"]}`, `{"created_at":"2024-02-29T12:00:00.5Z"}`,
		`[1]`, ` {"a":"\ud83d\ude00"} `, "{\"id\":\"\x00\"}", `{"id":"`, `{"input":[[[[[[]]]]]]}`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, claimed bool) {
		req, err := readJSON(body, claimed)
		var invalid *predict.ValidationError
		if err != nil && !errors.As(err, &invalid) {
			return
		}
		if len(body) == 0 {
			return
		}
		assert.TrueNow(t, json.Valid(body), "taken, but not JSON: %q, want valid JSON", body)
		if invalid != nil {
			for _, p := range invalid.Problems {
				assert.TrueNow(t, len(p.Loc) != 0 && p.Loc[0] == "body" && p.Msg != "" && len([]rune(p.Msg)) <= maxShown+100,
					"problem %+v, want len(Loc) non-empty, Loc[0] body, Msg non-empty and len at most %d", p, maxShown+100)
			}
			return
		}
		var want map[string]json.RawMessage
		assert.NoError(t, json.Unmarshal(body, &want), "taken, but not an object")
		var id string
		if raw, ok := want["id"]; ok {
			assert.NoError(t, json.Unmarshal(raw, &id), "id taken")
		}
		assert.EqualNow(t, "id", id, req.ID)
		input := want["input"]
		if input == nil || string(input) == "null" {
			input = json.RawMessage("{}")
		}
		assert.TrueNow(t, string(input) == string(req.Input), "input %q, want %q", req.Input, input)
		if req.Context != nil {
			var m map[string]string
			if err := json.Unmarshal(req.Context, &m); err != nil {
				// encoding/json checks each of equal keys, ReadJSON the last.
				var loose map[string]any
				assert.NoError(t, json.Unmarshal(req.Context, &loose), "context taken")
				for k, v := range loose {
					_, ok := v.(string)
					assert.TrueNow(t, ok, "context taken with %q = %v: ok = false, want true", k, v)
				}
			}
		}
	})
}
