// Package model reads a model's folder from outside, without a worker: cog.yaml, the predictor's reference, and the
// OpenAPI document, stored or made from the source.
//
//	Find, Guess      the folder's settings, strict or as far as they can be read
//	CheckCogYAML     every mistake in cog.yaml, with its line and the remedy
//	ReadStored       the document that the model brings
//	Override         a callback that replaces the documents of workers by it
//	ReadSource       the document from the source; Python runs in its own process, see process.Output
//	CompareSchemas   the differences of two documents
//
// Errors that end with process.ErrInterrupted mean that the user stopped the command.
package model
