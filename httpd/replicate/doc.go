// Package replicate serves the HTTP API that Replicate's clients call, for the models of this server: predictions by
// version, model and deployment, their streams, files, and the webhooks' secret.
//
//	versions     the ids of the models' versions, and which model a request means
//	uploads      files that clients have sent, until they expire
//	members      what a prediction object has beside that of the native API
//	eventWriter  a stream in Replicate's events
//	appendError  an error as a problem document (RFC 9457)
//
// Guarantees: a prediction is one of the native API, and has the same id there. An uploaded file stays as long as a
// prediction reads it. What the API has and this server has not, such as lists of predictions and trainings, is
// answered 404 with a problem that says so.
package replicate
