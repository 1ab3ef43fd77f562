// Package schemadiff describes how a stored OpenAPI document differs from the one made from the model's source.
package schemadiff
