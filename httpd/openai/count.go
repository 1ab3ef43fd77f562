package openai

import (
	"bytes"
	"strconv"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// countContext is the context of a prediction that counts the tokens of its inputs: the worker then calls the model's
// method with @openai("count_tokens").
const countContext = `{"pinion-count-tokens":"1"}`

// bytesPerToken is about how many bytes of English a token of today's models has.
const bytesPerToken = 4

// count answers how many tokens a request has: as the model counts them, or an estimate.
func (q *request) count(d Dialect) *Error {
	if !q.function.Counts {
		tokens := estimate(q.Inputs[0])
		q.drop()
		q.x.Response.Header.Add(protocol.HeaderWarning, "the count is an estimate, a token for "+
			strconv.Itoa(bytesPerToken)+" bytes of text: the model has no method with @openai(\"count_tokens\")")
		q.x.Send(ContentJSON, d.Count(nil, tokens))
		return nil
	}
	q.call.Context = []byte(countContext)
	answers, failed := q.x.Predict(q.model, q.call)
	if failed != nil {
		return q.errorOf(failed)
	}
	output := answers.List[0].Output
	if rawjson.KindOf(output) == array {
		output = onlyItem(output)
	}
	tokens, err := strconv.ParseInt(rawjson.Text(output), 10, 64)
	answers.Release()
	if err != nil || tokens < 0 {
		return BadOutput("The model's count of tokens is not an int of at least 0.")
	}
	q.x.Send(ContentJSON, d.Count(nil, tokens))
	return nil
}

// estimate returns about how many tokens the texts in JSON have. Data URLs are none.
func estimate(v []byte) int64 {
	size := 0
	for {
		begin := bytes.IndexByte(v, '"')
		if begin < 0 {
			return int64(max(1, (size+bytesPerToken-1)/bytesPerToken))
		}
		v = v[begin+1:]
		end := 0
		for end < len(v) && v[end] != '"' {
			if v[end] == '\\' {
				end++
			}
			end++
		}
		if !bytes.HasPrefix(v, []byte("data:")) {
			size += end
		}
		v = v[min(end+1, len(v)):]
	}
}
