// Package cli has the commands of pinion: a file each, named after it, which reads flags and prints, while other
// packages do the work. What a command says of a model (checkreport.go, doctorreport.go), and one prediction without a
// server (ask.go), are beside their commands.
//
// Errors name the flag or argument that is wrong and the nearest that would be right (flagerror.go, arguments.go). Exit
// codes are those of package process. help.go says in which group of the help each command and flag of serve stands.
package cli
