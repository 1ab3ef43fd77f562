// Package modellist answers GET /v1/models and /v1/models/{model} for clients of OpenAI and of KServe v1, which share these
// paths. An answer has the members of both:
//
//	{"object":"list","data":[{"id","object","created","owned_by","name","ready"}],"models":["NAME"]}
//
// It imports protocol and rawjson; openai and kserve import it.
package modellist
