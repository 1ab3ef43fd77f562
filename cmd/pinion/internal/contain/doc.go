// Package contain runs a program of the model's side, Python or dpkg, so that nothing of it survives.
//
// Output starts this binary again as a process in between (Main, chosen by Argument as the first argument). That process adopts
// everything the program starts, and kills it when the program ends, the time is over, a signal arrives, or the caller dies.
package contain
