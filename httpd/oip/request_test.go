package oip

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pinion/httpd/protocol"
	"pinion/tests/assert"
)

// TestRequest_SizesAddUp: a body whose sizes do not add up is refused, with the size that came.
func TestRequest_SizesAddUp(t *testing.T) {
	const head = `{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}]}`
	for rest, want := range map[string]string{
		"12345678": "", "1234567": "7 bytes are left", "123456789": "1 bytes follow the last binary tensor",
	} {
		r, err := readRequest([]byte(head+rest), len(head))
		switch {
		case want == "" && err != nil:
			t.Errorf("%d bytes: %v", len(rest), err)
		case want == "" && string(r.Inputs[0].Raw) != rest:
			t.Errorf("raw is %q, want %q", r.Inputs[0].Raw, rest)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%d bytes: %v, want %q", len(rest), err, want)
		}
	}
}

// TestRequest_Refusals compares the messages for invalid requests.
func TestRequest_Refusals(t *testing.T) {
	for body, want := range map[string]string{
		``:               "the body is empty",
		`[]`:             "must be an object",
		`{}`:             "inputs is absent",
		`{"inputs":[1]}`: "must be an object",
		`{"inputs":[{"name":"x","datatype":"FP8","shape":[1],"data":[1]}]}`:                                      "FP8\": must be one of BOOL",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[-1],"data":[1]}]}`:                                    "the invalid length -1",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[1]}]}`:                                   "1 elements, but shape [2,2] has 4",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[[1,2]]}]}`:                                 "data is [[1,2]]: for shape [2] it must be a flat list",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,[2]]}]}`:                                 "data is [1,[2]]: for shape [2] it must be a flat list",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[[1],[2,3,4]]}]}`:                         "for shape [2,2] it must be a flat list, or lists within lists of these lengths",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2,1,2],"data":[[1,2],[3,4]]}]}`:                       "for shape [2,1,2] it must be a flat list",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[],"data":[[1]]}]}`:                                    "for shape [] it must be a flat list",
		`{"inputs":[{"name":"x","datatype":"INT8","shape":[1],"data":[300]}]}`:                                   "300 is not a valid INT8",
		`{"inputs":[{"name":"x","datatype":"BOOL","shape":[1],"data":[1]}]}`:                                     "1 is not a valid BOOL",
		`{"inputs":[{"name":"x","datatype":"BYTES","shape":[1],"data":[1]}]}`:                                    "1 is not a valid BYTES",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[99999999999,99999999999],"data":[]}]}`:                "too large",
		`{"inputs":[],"parameters":{"binary_data_output":"yes"}}`:                                                "must be true or false",
		`{"inputs":[],"outputs":[{"name":"a","parameters":{"binary_data":1}}]}`:                                  "must be true or false",
		`{"inputs":[{"name":"x","shape":[1],"data":[1]}]}`:                                                       "datatype is absent",
		`{"inputs":[{"name":"x","datatype":"FP32","data":[1]}]}`:                                                 "shape is absent",
		`{"inputs":[],"parameters":{"sequence_id":1}}`:                                                           "not supported",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"a"}}]}`:      "not supported",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[1]}]}`:                                                "has no data",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":{"a":1}}]}`:                                 `data is {"a":1}: must be a list`,
		`{"inputs":[{"datatype":"FP32","shape":[1],"data":[1]}]}`:                                                "the name of an input is absent: must be a string",
		`{"inputs":[{"name":5,"datatype":"FP32","shape":[1],"data":[1]}]}`:                                       "the name of an input is 5: must be a string",
		`{"inputs":[],"outputs":[{}]}`:                                                                           "the name of an output is absent: must be a string",
		`{"inputs":[],"outputs":[{"name":["a"]}]}`:                                                               `the name of an output is ["a"]: must be a string`,
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,NaN]}]}`:                                 "NaN is not valid JSON",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[-Infinity]}]}`:                             "Infinity is not valid JSON",
		`{"inputs":[],"outputs":[{"name":"a"},{"name":"a"}]}`:                                                    "asked for twice",
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}}]}`: "both",
	} {
		_, err := readRequest([]byte(body), len(body))
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %q", body, err, want)
	}
}

// TestRequest_NestedData: data may be nested as the shape is.
func TestRequest_NestedData(t *testing.T) {
	for shape, lists := range map[string][]string{
		"[2]": {"[1,2]"}, "[2,2]": {"[1,2,3,4]", "[[1,2],[3,4]]"}, "[2,1]": {"[1,2]", "[[1],[2]]"}, "[]": {"[1]"},
		"[2,1,2]": {"[[[1,2]],[[3,4]]]"}, "[0]": {"[]"}, "[2,0]": {"[]", "[[],[]]"}, "[0,2]": {"[]"},
	} {
		for _, data := range lists {
			body := `{"inputs":[{"name":"x","datatype":"FP32","shape":` + shape + `,"data":` + data + `}]}`
			_, err := readRequest([]byte(body), len(body))
			assert.True(t, err == nil, "%s: %v, want nil", body, err)
		}
	}
}

// TestRequest_LengthIsDigits: only what each server reads alike is a length.
func TestRequest_LengthIsDigits(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "92": 92, "+5": -1, "-5": -1, "0x5": -1, "5 ": -1, "5_0": -1,
		"99999999999999999999": -1,
	} {
		n, ok := readLength([]byte(text))
		assert.True(t, ok == (want >= 0) && (!ok || n == want), "%q: %d %t, want %d", text, n, ok, want)
	}
}

// TestRequest_NullIsAbsent: some clients write each field of a request, with null for those that they do not use.
func TestRequest_NullIsAbsent(t *testing.T) {
	body := `{"id":null,"parameters":null,"outputs":null,"inputs":[` +
		`{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":null}]}`
	r, err := readRequest([]byte(body), len(body))
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	assert.True(t, r.ID == nil && r.Outputs == nil && r.Parameters == nil && len(r.Inputs) == 1,
		"got %+v, want one input and nothing else", r)
}

// TestRequest_RefusalsAreShort: what a client sends is cut in the answer, and it cannot have the server compare a
// million outputs.
func TestRequest_RefusalsAreShort(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	many := func(item string) string { return strings.Repeat(item+",", MaxMembers) + item }
	distinct := make([]string, MaxMembers+1)
	for i := range distinct {
		distinct[i] = fmt.Sprintf(`{"name":"%d"}`, i)
	}
	for _, body := range []string{
		`{"inputs":[{"name":"` + long + `","datatype":"FP8","shape":[1],"data":[1]}]}`,
		`{"inputs":[{"name":"` + long + `","datatype":"FP32","shape":[1]}]}`,
		`{"inputs":[{"name":"` + long + `","datatype":"INT8","shape":[1],"data":[300]}]}`,
		`{"inputs":[],"parameters":{"sequence_` + long + `":1}}`,
		`{"inputs":[` + many(`{"name":"x","datatype":"FP32","shape":[1],"data":[1]}`) + `]}`,
		`{"inputs":[],"outputs":[` + strings.Join(distinct, ",") + `]}`,
		`{"inputs":[],"parameters":{` + many(`"p":1`) + `}}`,
	} {
		_, err := readRequest([]byte(body), len(body))
		assert.True(t, err != nil && len(err.Error()) <= 500, "%.60s: %.400v, want a short refusal", body, err)
	}
}

// TestRequest_Half walks all floats of 16 bits.
func TestRequest_Half(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		v := halfToFloat(h)
		back := floatToHalf(float64(v))
		assert.TrueNow(t, back == h || math.IsNaN(float64(v)), "%#x is %v, which is %#x, want NaN", h, v, back)
	}
}

// FuzzReadRequest: no body panics, and what is read has the size of its shape.
func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(`{"inputs":[{"name":"x","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}`+
		"\x01\x00\x00\x00a"), 92)
	f.Add([]byte(`{"inputs":[{"name":"x","datatype":"FP16","shape":[1,1],"data":[[1]]}]}`), 70)
	f.Fuzz(func(t *testing.T, body []byte, head int) {
		if head < 0 || head > len(body) {
			return
		}
		r, err := readRequest(body, head)
		if err != nil {
			return
		}
		for i := range r.Inputs {
			in := &r.Inputs[i]
			n, ok := count(in.Shape)
			assert.TrueNow(t, (in.Raw != nil || int64(len(in.Tokens)) == n || in.Type.Size < 0 || len(in.Tokens) == 0) && ok,
				"%+v has %d elements, want len(Tokens) empty and ok true", in, n)
			assert.TrueNow(t, in.Raw == nil || in.Type.Size <= 0 || int64(len(in.Raw)) == n*int64(in.Type.Size),
				"%+v has %d bytes, want %d", in, len(in.Raw), n*int64(in.Type.Size))
			_, err := in.Bytes()
			assert.NoError(t, err)
			_, _ = in.tokens(new(protocol.Call))
		}
	})
}
