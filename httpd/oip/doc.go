// Package oip speaks the Open Inference Protocol (KServe v2, Triton's HTTP protocol) over REST.
//
// It imports protocol and rawjson; cmd imports it.
package oip
