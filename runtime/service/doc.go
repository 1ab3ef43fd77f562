// Package service is the use cases of the server, without HTTP: accept a prediction, run it, cancel it, report health.
// It joins the packages of runtime. httpd calls it through place.Service.
//
// Guarantees: a prediction that Create accepted ends exactly once and leaves no files, slots or memory behind, even if
// its client, its worker or its files fail. A refused one leaves nothing behind either.
package service
