// Package place decides where the prediction of a request is. It alone knows the model's service, the job queue, when requests
// overflow into it, which predictions a PUT joins, and which kept results answer one again. All protocols that have predictions
// by id ask it.
//
// It knows nothing of HTTP: Placed says what the caller answers with.
package place
