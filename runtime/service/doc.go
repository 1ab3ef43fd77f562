// Package service is the use cases of the server, free of HTTP: take a prediction in, carry it out,
// cancel it, report health. It joins the packages of runtime; httpd calls it through an interface
// of httpd's own.
//
// It promises: a prediction that Create took ends exactly once and leaves nothing behind, whatever
// becomes of its client, its worker or its files; a refusal leaves nothing behind either.
//
// Only cmd imports it.
package service
