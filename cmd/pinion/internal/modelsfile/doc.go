// Package modelsfile reads the file of 'pinion serve --config': which models a server has, and their settings. It knows
// the form of the file and where each value stands; what the values of a model's keys mean is its caller's business.
package modelsfile
