// Package vertex keeps the contract of Vertex AI's containers: a health route and a predict route, whose paths Vertex AI sets
// in the container's environment. They have their paths even if these are the native API's.
//
// It imports protocol and instances; cmd imports it.
package vertex
