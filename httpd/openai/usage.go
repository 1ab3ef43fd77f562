package openai

import (
	"strconv"

	"pinion/runtime/rawjson"
)

// Usage is how many tokens a request took. Models record them by Replicate's names; what they do not record is 0.
type Usage struct{ Prompt, Completion int64 }

// add adds what a prediction recorded. first means that it is the first one of its prompt, which counts once.
func (u *Usage) add(metrics []byte, first bool) {
	for key, value := range rawjson.Members(metrics) {
		switch {
		case rawjson.KeyIs(key, "input_token_count") && first:
			u.Prompt += count(value)
		case rawjson.KeyIs(key, "output_token_count"):
			u.Completion += count(value)
		}
	}
}

// count reads a count; a float, which models record too, loses its fraction.
func count(value []byte) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
		return n
	}
	if f, err := strconv.ParseFloat(string(value), 64); err == nil && f >= 0 && f < 1<<62 {
		return int64(f)
	}
	return 0
}

// append appends the usage object. Embeddings have no completion.
func (u Usage) append(dst []byte, e Endpoint) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), u.Prompt, 10)
	if e == Embeddings {
		u.Completion = 0
	} else {
		dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), u.Completion, 10)
	}
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), u.Prompt+u.Completion, 10)
	return append(dst, '}')
}

// Usage adds up what the predictions of a request recorded.
func (r *Request) Usage(results []Result) (u Usage) {
	for i := range results {
		u.add(results[i].Metrics, i%r.perPrompt == 0)
	}
	return u
}

// appendTokens appends the usage object by the newer names.
func (u Usage) appendTokens(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), u.Prompt, 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), u.Completion, 10)
	return append(strconv.AppendInt(append(dst, `,"total_tokens":`...), u.Prompt+u.Completion, 10), '}')
}
