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
	return append(appendStartData(append(dst, "event: start\ndata: "...), id), eventTail...)
}

func appendStartData(dst []byte, id string) []byte {
	dst = rawjson.AppendQuoted(append(dst, "{\"id\":"...), id)
	return append(dst, ",\"status\":\"processing\"}"...)
}

// appendOutputTail appends what follows the item.
func appendOutputTail(dst []byte, index uint64) []byte {
	return append(appendIndex(dst, index), eventTail...)
}

func appendIndex(dst []byte, index uint64) []byte {
	return append(strconv.AppendUint(append(dst, ",\"index\":"...), index, 10), '}')
}

func appendLog(dst []byte, source string, text []byte) []byte {
	return append(appendLogData(append(dst, "event: log\ndata: "...), source, text), eventTail...)
}

func appendLogData(dst []byte, source string, text []byte) []byte {
	dst = rawjson.AppendQuoted(append(dst, "{\"source\":"...), source)
	dst = rawjson.AppendQuotedBytes(append(dst, ",\"data\":"...), text)
	return append(dst, '}')
}

func appendMetric(dst, metric []byte) []byte {
	dst = append(dst, "event: metric\ndata: "...)
	dst = append(dst, answers.OneLine(metric)...)
	return append(dst, eventTail...)
}

func appendMissed(dst []byte, err *predict.MissedError) []byte {
	return append(appendMissedData(append(dst, "event: error\ndata: "...), err), eventTail...)
}

func appendMissedData(dst []byte, err *predict.MissedError) []byte {
	dst = rawjson.AppendQuoted(append(dst, "{\"error\":"...), err.Error())
	return append(strconv.AppendUint(append(dst, ",\"skipped\":"...), err.Skipped, 10), '}')
}
