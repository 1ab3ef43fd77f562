// Command grpcload asks a server of the Open Inference Protocol over gRPC, from many connections, and prints how many
// calls a second were answered: RESULT requests=N us=N wrong=N.
package main
