// Package ports opens what clients reach a server at: sockets, the port of gRPC, certificates, and the tokens that they need. A port
// in use is explained by the process that has it, and by the flag or variable that chooses another. No message shows a token.
//
// The servers of 'pinion serve', 'gateway' and 'batching' import it.
package ports
