package service

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
)

// key is an input that must be equal in all predictions of a batch.
type key struct {
	name     string
	fallback string // its default, as JSON
}

// keysOf reads the defaults of keys from the model's schema document.
func keysOf(openapi []byte, names []string) []key {
	d, _ := schema.ReadDocument[struct { // without a default, absent equals absent
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}](openapi)
	properties := d.Schemas[schema.ComponentName(false, false)].Properties
	keys := make([]key, len(names))
	for i, name := range names {
		keys[i] = key{name, string(properties[name].Default)}
	}
	return keys
}

// keyOf returns the batch key of an input: the values of its keys.
func keyOf(keys []key, input []byte) string {
	if len(keys) == 0 {
		return ""
	}
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = k.fallback
	}
	for name, value := range rawjson.Members(input) {
		for i := range keys {
			if keys[i].name == rawjson.KeyText(name) {
				values[i] = string(value)
			}
		}
	}
	return strings.Join(values, ",")
}

// withQueueTime adds the time in the queue to a prediction's metrics, a JSON object.
func withQueueTime(metrics []byte, waited time.Duration) []byte {
	if len(metrics) < 2 {
		return metrics
	}
	open := metrics[:len(metrics)-1]
	longer := make([]byte, 0, len(metrics)+32)
	longer = append(longer, open...)
	longer = rawjson.Comma(longer, len(open) > 1)
	longer = append(longer, `"queue_time":`...)
	longer = strconv.AppendFloat(longer, waited.Seconds(), 'f', -1, 64)
	return append(longer, '}')
}
