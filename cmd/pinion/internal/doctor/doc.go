// Package doctor finds what of a folder made for Cog would behave differently here: in cog.yaml, in the requirements
// and in the source, each with file and line.
package doctor
