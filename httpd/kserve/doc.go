// Package kserve speaks KServe's protocol v1, which is that of TensorFlow Serving's REST API. Its version 2 is the Open
// Inference Protocol, package oip.
//
// It imports protocol, instances and modellist; cmd imports it.
package kserve
