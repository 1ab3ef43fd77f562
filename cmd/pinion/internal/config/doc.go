// Package config reads and checks the flags and variables of pinion serve, pinion gateway and pinion batching, and of
// what pinion jobs has in common with them. A flag overrides its variable, and a variable the default.
//
// ReadModelsFile reads the file of 'pinion serve --config': which models a server has, and their settings. It knows the
// form of the file and where each value stands; the values of a model's keys are those of its flags.
//
// It knows no server: servers take these settings as they are.
package config
