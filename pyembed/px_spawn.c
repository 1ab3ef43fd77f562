// Knowing of a child before there is one.
//
// glibc tells of a fork by pthread_atfork alone: not of vfork, by which Python's subprocess starts programs, nor of what it makes
// of its own clone, as posix_spawn does. Those are defined here again: the linker finds the program's own first, for
// Python and all libraries alike. Each does what glibc's does, and has the prediction's own log pipes made before.
#define _GNU_SOURCE  // RTLD_NEXT
#include "px_worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PX_VISIBLE __attribute__((visibility("default")))

// Of a stray's child the streams are changed in the child where it is forked, and for as long as the call takes
// where it is not: what other threads write by themselves meanwhile is nobody's as well.
struct loan {
  int kept[2];  // the streams' own, or -1
};

static void lend(struct loan *l) {
  int nobodys[2];
  l->kept[0] = l->kept[1] = -1;
  if (!px_pipes_before_child(nobodys, false)) return;
  for (int i = 0; i < 2; i++) {
    if (nobodys[i] < 0 || (l->kept[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 3)) < 0) continue;
    dup2(nobodys[i], 1 + i);
  }
}

static void give_back(const struct loan *l) {
  int error = errno;
  for (int i = 0; i < 2; i++) {
    if (l->kept[i] < 0) continue;
    dup2(l->kept[i], 1 + i);
    close(l->kept[i]);
  }
  errno = error;
}

PX_VISIBLE int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *restrict attr, char *const argv[restrict], char *const env[restrict]) {
  typedef int call(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
  call *next;
  *(void **)&next = dlsym(RTLD_NEXT, "posix_spawn");
  struct loan l;
  lend(&l);
  int status = next(pid, path, actions, attr, argv, env);
  give_back(&l);
  return status;
}

PX_VISIBLE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[]) {
  typedef int call(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
  call *next;
  *(void **)&next = dlsym(RTLD_NEXT, "posix_spawnp");
  struct loan l;
  lend(&l);
  int status = next(pid, file, actions, attr, argv, env);
  give_back(&l);
  return status;
}

PX_VISIBLE FILE *popen(const char *command, const char *modes) {
  typedef FILE *call(const char *, const char *);
  call *next;
  *(void **)&next = dlsym(RTLD_NEXT, "popen");
  struct loan l;
  lend(&l);
  FILE *stream = next(command, modes);
  give_back(&l);
  return stream;
}

// Of system only the beginning is seen: a loan would last for as long as the command.
PX_VISIBLE int system(const char *command) {
  typedef int call(const char *);
  call *next;
  *(void **)&next = dlsym(RTLD_NEXT, "system");
  int nobodys[2];
  if (command) px_pipes_before_child(nobodys, false);
  return next(command);
}

#if defined(__x86_64__) || defined(__aarch64__)
// px_vfork_next is what vfork goes on with: fork for a stray, whose child is then changed by in_child of px_fork.c.
__attribute__((used)) void *px_vfork_next(void) {
  int nobodys[2], error = errno;
  bool stray = px_pipes_before_child(nobodys, true);
  if (stray) px_fork_to(nobodys);
  void *next = dlsym(RTLD_NEXT, stray ? "fork" : "vfork");
  errno = error;
  return next;
}

// vfork returns twice, in one frame of the stack: so it is jumped to, and this has no frame of its own by then.
#ifdef __x86_64__
__asm__(
    ".text\n.globl vfork\n.type vfork, @function\nvfork:\n"
    "  .cfi_startproc\n  endbr64\n  subq $8, %rsp\n  .cfi_adjust_cfa_offset 8\n  call px_vfork_next\n"
    "  addq $8, %rsp\n  .cfi_adjust_cfa_offset -8\n  jmp *%rax\n  .cfi_endproc\n.size vfork, .-vfork\n");
#else
__asm__(
    ".text\n.globl vfork\n.type vfork, @function\nvfork:\n"
    "  .cfi_startproc\n  stp x29, x30, [sp, #-16]!\n  .cfi_adjust_cfa_offset 16\n  bl px_vfork_next\n"
    "  ldp x29, x30, [sp], #16\n  .cfi_adjust_cfa_offset -16\n  mov x16, x0\n  br x16\n  .cfi_endproc\n.size vfork, .-vfork\n");
#endif
#endif
