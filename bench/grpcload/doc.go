// Command grpcload asks a server of the Open Inference Protocol over gRPC, from many connections, and prints how many calls a
// second were answered: RESULT calls microseconds wrong.
package main
