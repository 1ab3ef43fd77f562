// Package oip speaks the Open Inference Protocol (KServe v2, Triton's HTTP protocol) over REST.
//
// A request of n rows is n predictions; a row is what the scalar inputs have at one place. Arrays and lists are taken
// whole. The sizes of binary tensors must add up to the body, and each element must be one of its datatype. Names,
// datatypes and shapes that the model does not have are refused before it runs.
package oip
