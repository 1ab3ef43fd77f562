// Package config has the settings of pinion serve, pinion gateway and pinion batching, and of what pinion jobs has in common with
// them. Each is a row of a table (usertext.Setting), from which its flag, variable, checks, help, completion and key in pinion.yaml
// come. A flag overrides its variable, and a variable what holds without one. What concerns two settings is a check of its own.
//
// ReadModelsFile reads the file of 'pinion serve --config': which models a server has, and their settings. It knows the form of the
// file and where each value stands; the values of a model's keys are those of its flags.
//
// It knows no server: servers take these settings as they are.
package config
