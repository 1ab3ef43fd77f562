// Package process manages processes for the commands: their own, and those that they start.
//
//	Output           runs a program of the model's side, Python or dpkg, so that nothing of it survives
//	WatchInterrupts  the signals by which a user ends a command, SIGINT and SIGTERM
//	Binary           the binary of this process: how to execute and copy it, and whether its file was replaced since
//	ExitWith, …      how a command ends: exit codes, and errors that carry one
//	RunDir           what a server keeps on disk while it runs: a locked folder below TMPDIR
//	Servers          the running servers of this user, by their run folders
//	SDKFolder        the cog package, which is cached for the user from one run to the next
//
// Output starts this binary again as a process in between (ContainMain, chosen by ContainArgument as the first
// argument). That process adopts everything that the program starts, and kills it when the program ends, the time is
// over, a signal arrives, or the caller dies.
//
// MakeRunDir removes the folders of servers that are gone. RunDir.Path may change when a cleaner of temporary files
// removed the folder.
package process
