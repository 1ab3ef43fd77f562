package service

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestBatchkey_KeyOf(t *testing.T) {
	keys := keysOf([]byte(`{"components":{"schemas":{"Input":{"properties":{
		"width":{"type":"integer","default":512},"style":{"type":"string"},"é":{"default":"x"}}}}}}`),
		[]string{"width", "style", "é"})
	for input, want := range map[string]string{
		`{}`:                                    `512,,"x"`,
		`{"width":512}`:                         `512,,"x"`,
		`{"text":"a","width":64,"style":"oil"}`: `64,"oil","x"`,
		`{"w\u0069dth":64,"\u00e9":"y"}`:        `64,,"y"`,
		`{"style":"a,b","width":1,"width":2}`:   `2,"a,b","x"`,
		`{"style":["width",3],"other":{"é":1}}`: `512,["width",3],"x"`,
		`{"style":null}`:                        `512,null,"x"`,
	} {
		assert.Equal(t, "the key of "+input, keyOf(keys, []byte(input)), want)
	}
	assert.Equal(t, "without keys", keyOf(nil, []byte(`{"a":1}`)), "")
	assert.Equal(t, "without a schema", keyOf(keysOf([]byte(`rubbish`), []string{"a"}), []byte(`{"a":1}`)), "1")
}

func TestBatchkey_WithQueueTime(t *testing.T) {
	for metrics, want := range map[string]string{
		``:                     ``,
		`{}`:                   `{"queue_time":0.0015}`,
		`{"predict_time":0.5}`: `{"predict_time":0.5,"queue_time":0.0015}`,
	} {
		before := []byte(metrics)
		assert.Equal(t, metrics, string(withQueueTime(before, 1500*time.Microsecond)), want)
		assert.Equal(t, "the input, which may be a part of a worker's answer", string(before), metrics)
	}
	assert.Equal(t, "no wait", string(withQueueTime([]byte(`{}`), 0)), `{"queue_time":0}`)
}
