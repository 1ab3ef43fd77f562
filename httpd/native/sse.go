package native

import (
	"strconv"

	"pinion/httpd/answers"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// The events of a stream, as the HTTP contract defines them. Small events are appended whole. For a model's JSON, which
// can be large, the caller may write the bytes between head and tail.

const (
	outputHead    = "event: output\ndata: {\"chunk\":"
	completedHead = "event: completed\ndata: "
	eventTail     = "\n\n"
)

func appendStart(dst []byte, id string) []byte {
	dst = append(dst, "event: start\ndata: {\"id\":"...)
	dst = rawjson.AppendQuoted(dst, id)
	return append(dst, ",\"status\":\"processing\"}\n\n"...)
}

// appendOutputTail appends what follows the item.
func appendOutputTail(dst []byte, index uint64) []byte {
	dst = append(dst, ",\"index\":"...)
	dst = strconv.AppendUint(dst, index, 10)
	return append(dst, "}\n\n"...)
}

func appendLog(dst []byte, source string, text []byte) []byte {
	dst = append(dst, "event: log\ndata: {\"source\":"...)
	dst = rawjson.AppendQuoted(dst, source)
	dst = append(dst, ",\"data\":"...)
	dst = rawjson.AppendQuotedBytes(dst, text)
	return append(dst, "}\n\n"...)
}

func appendMetric(dst, metric []byte) []byte {
	dst = append(dst, "event: metric\ndata: "...)
	dst = append(dst, answers.OneLine(metric)...)
	return append(dst, eventTail...)
}

func appendMissed(dst []byte, err *predict.MissedError) []byte {
	dst = append(dst, "event: error\ndata: {\"error\":"...)
	dst = rawjson.AppendQuoted(dst, err.Error())
	dst = append(dst, ",\"skipped\":"...)
	dst = strconv.AppendUint(dst, err.Skipped, 10)
	return append(dst, "}\n\n"...)
}
