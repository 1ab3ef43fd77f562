// interpreter_exit.c ends forked children of the model's.
#ifndef INTERPRETER_EXIT_H
#define INTERPRETER_EXIT_H

// px_exit_child ends a forked child that came back to the serve loop. GIL held. An exception may be set: SystemExit
// gives the exit code. It never returns.
void px_exit_child(void);

#endif
