// Package request reads the body of a create request, as JSON, MessagePack or a form, into a predict.Request. It knows
// nothing of HTTP, so the job queue reads with it what it stored.
//
//	format.go     which format a Content-Type is
//	envelope.go   the request's own keys, and its input as raw JSON
//	form.go       multipart/form-data
//	read.go       each format; files go to disk as they come
//	room.go       the charge of a body whose length is not known
//	submission.go what is given to the job queue
//
// The error for a body is a *rawjson.SyntaxError, ErrEmpty, ErrTooLarge, an *Error, a *RoomError or a
// *predict.ValidationError.
package request
