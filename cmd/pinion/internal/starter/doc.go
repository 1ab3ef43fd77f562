// Package starter makes the folder of a new model, which serves at once.
package starter
