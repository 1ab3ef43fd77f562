package openai

import (
	"slices"
	"strconv"

	"pinion/runtime/rawjson"
)

// cohereRerank is the path of Cohere's newer clients. Their older ones and Jina's ask that of Rerank.
const cohereRerank = "/v2/rerank"

// plainRerank is the path of LiteLLM's clients of vLLM and Infinity.
const plainRerank = "/rerank"

// maxDocuments is how many documents a request may have.
const maxDocuments = 10_000

// readDocuments returns the documents for the function's calls: all in one list, or each alone if it takes a text. A
// document is a text, or an object with one.
func (f *Function) readDocuments(r *Request, value []byte) ([]promptValue, *Error) {
	const name = "documents"
	if rawjson.KindOf(value) != array {
		return nil, WrongType(name, "an array", value)
	}
	objects := false
	for i, item := range rawjson.Items(value) {
		param := Indexed(name, i)
		if i == maxDocuments {
			return nil, WrongValue(name, "it has more than "+strconv.Itoa(maxDocuments)+" items.")
		}
		if rawjson.KindOf(item) == object {
			objects = true
			if item = Member(item, "text"); item == nil {
				return nil, Missing(param + ".text")
			}
		}
		if rawjson.KindOf(item) != text {
			return nil, WrongType(param, "a string or an object with text", item)
		}
		r.documents = append(r.documents, item)
	}
	r.items = len(r.documents)
	switch {
	case r.items == 0:
		return nil, WrongValue(name, "it is empty.")
	case f.inputs[name]&(formTexts|formList) != 0 && !objects:
		return []promptValue{{value: value}}, nil
	case f.inputs[name]&(formTexts|formList) != 0:
		list := []byte{'['}
		for i, document := range r.documents {
			list = rawjson.Comma(list, i > 0)
			list = append(list, document...)
		}
		r.copied += int64(len(list))
		return []promptValue{{value: append(list, ']')}}, nil
	case r.items > maxInputs:
		return nil, WrongValue(name, "it makes more than "+strconv.Itoa(maxInputs)+" predictions.")
	}
	var values []promptValue
	for _, document := range r.documents {
		values = append(values, promptValue{value: document})
	}
	return values, nil
}

// readRanking reads what the server does with the scores.
func (r *Request) readRanking(b *Body) *Error {
	if b.get("query", text) == nil {
		return Missing("query")
	}
	if n := b.get("top_n", number); n != nil {
		count, err := strconv.Atoi(string(n))
		if err != nil || count < 1 {
			return WrongValue("top_n", "must be an integer of at least 1.")
		}
		r.topN = count
	}
	r.returns = string(b.get("return_documents", boolean)) != "false"
	return nil
}

// answerRanking returns the documents by their scores, the best first.
func (r *Request) answerRanking(h Head, results []Result) ([]byte, *Error) {
	var scores [][]byte
	for i := range results {
		if output := results[i].Output; rawjson.KindOf(output) == array {
			for _, item := range rawjson.Items(output) {
				scores = append(scores, item)
			}
		} else {
			scores = append(scores, output)
		}
	}
	if len(scores) != len(r.documents) {
		return nil, BadOutput("The model returned " + strconv.Itoa(len(scores)) + " scores for " +
			strconv.Itoa(len(r.documents)) + " documents.")
	}
	order, values := make([]int, len(scores)), make([]float64, len(scores))
	for i, score := range scores {
		if rawjson.KindOf(score) != number {
			return nil, BadOutput("The model returned " + typeOf(score) +
				" as a score; a rerank function returns a list of numbers.")
		}
		order[i] = i
		values[i], _ = strconv.ParseFloat(string(score), 64)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return 0
	})
	if r.topN > 0 {
		order = order[:min(r.topN, len(order))]
	}
	dst := rawjson.AppendQuoted([]byte(`{"object":"list","id":`), h.ID)
	dst = rawjson.AppendQuoted(append(dst, `,"model":`...), h.Model)
	dst = append(dst, `,"results":[`...)
	for n, i := range order {
		dst = rawjson.Comma(dst, n > 0)
		dst = strconv.AppendInt(append(dst, `{"index":`...), int64(i), 10)
		dst = append(append(dst, `,"relevance_score":`...), scores[i]...)
		if r.returns {
			dst = append(append(append(dst, `,"document":{"text":`...), r.documents[i]...), '}')
		}
		dst = append(dst, '}')
	}
	dst = r.Usage(results).append(append(dst, `],"usage":`...), Embeddings)
	return append(dst, `,"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1}}}`...), nil
}
