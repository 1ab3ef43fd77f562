// Package usertext reads what people write: files, YAML, and the values of flags and environment variables.
//
//	ReadFile           a file: whole, bounded, as UTF-8 without a byte order mark
//	ParseYAML          a tree whose values know their kind and line, so that a mistake can be named where it stands
//	Setting            what may be set by a flag, a variable or a key: where it goes, its bounds and words, its help
//	ParseHost, …       one value; the error says what it was and what it may be, so that its caller only puts the name
//	                   before it
//
// A file that is named in a folder from elsewhere may be of any size, or a device that never ends. The tree takes YAML
// with mistakes too: a key that is given twice is in it twice.
//
// It lies below package model, which reads files of a model, and package config, which reads flags.
package usertext
