// Functions that make a child, so that the running prediction gets its own log pipes before.
//
// glibc announces a fork only to pthread_atfork. It does not announce vfork, by which Python's subprocess starts
// programs, nor its own clone, as in posix_spawn. These functions are therefore defined here again; the linker finds
// the program's first, for Python and all libraries. Each makes the pipes and calls glibc's.
#define _GNU_SOURCE  // RTLD_NEXT
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process_fork.h"
#include "process_pipes.h"
#include "channel_worker.h"

// A child of leftover code (see process_pipes.c) gets other streams. A fork changes them in the child. Without a fork they
// are changed in this process for as long as the call takes; what other threads write meanwhile is unattributed too.
struct redirect {
  int saved[2];  // the process's own streams, or -1
};

static void begin_redirect(struct redirect *r) {
  int unattributed[2];
  r->saved[0] = r->saved[1] = -1;
  if (!px_pipes_before_child(unattributed, false)) return;
  for (int i = 0; i < 2; i++) {
    if (unattributed[i] < 0 || (r->saved[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 3)) < 0) continue;
    dup2(unattributed[i], 1 + i);
  }
}

static void end_redirect(const struct redirect *r) {
  int error = errno;
  for (int i = 0; i < 2; i++) {
    if (r->saved[i] < 0) continue;
    dup2(r->saved[i], 1 + i);
    close(r->saved[i]);
  }
  errno = error;
}

typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                  char *const[]);

// spawn_by calls one of glibc's two functions.
static int spawn_by(const char *name, pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
                    const posix_spawnattr_t *attr, char *const argv[], char *const env[]) {
  spawn *next;
  *(void **)&next = dlsym(RTLD_NEXT, name);
  struct redirect r;
  begin_redirect(&r);
  int status = next(pid, program, actions, attr, argv, env);
  end_redirect(&r);
  return status;
}

PX_VISIBLE int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *restrict attr, char *const argv[restrict],
                           char *const env[restrict]) {
  return spawn_by("posix_spawn", pid, path, actions, attr, argv, env);
}

PX_VISIBLE int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[]) {
  return spawn_by("posix_spawnp", pid, file, actions, attr, argv, env);
}

PX_VISIBLE FILE *popen(const char *command, const char *modes) {
  typedef FILE *call(const char *, const char *);
  call *next;
  *(void **)&next = dlsym(RTLD_NEXT, "popen");
  struct redirect r;
  begin_redirect(&r);
  FILE *stream = next(command, modes);
  end_redirect(&r);
  return stream;
}

// system redirects nothing: that would last for as long as the command.
PX_VISIBLE int system(const char *command) {
  typedef int call(const char *);
  call *next;
  *(void **)&next = dlsym(RTLD_NEXT, "system");
  int unattributed[2];
  if (command) px_pipes_before_child(unattributed, false);
  return next(command);
}

#if defined(__x86_64__) || defined(__aarch64__)
// px_vfork_next is the function that vfork continues with: fork for leftover code, whose child in_child of process_fork.c
// then changes.
__attribute__((used)) void *px_vfork_next(void) {
  int unattributed[2], error = errno;
  bool leftover = px_pipes_before_child(unattributed, true);
  if (leftover) px_fork_to(unattributed);
  void *next = dlsym(RTLD_NEXT, leftover ? "fork" : "vfork");
  errno = error;
  return next;
}

// vfork returns twice in one stack frame. So this jumps to it, and has no frame left by then.
#ifdef __x86_64__
__asm__(
    ".text\n.globl vfork\n.type vfork, @function\nvfork:\n"
    "  .cfi_startproc\n  endbr64\n  subq $8, %rsp\n  .cfi_adjust_cfa_offset 8\n  call px_vfork_next\n"
    "  addq $8, %rsp\n  .cfi_adjust_cfa_offset -8\n  jmp *%rax\n  .cfi_endproc\n.size vfork, .-vfork\n");
#else
__asm__(
    ".text\n.globl vfork\n.type vfork, @function\nvfork:\n"
    "  .cfi_startproc\n  stp x29, x30, [sp, #-16]!\n  .cfi_adjust_cfa_offset 16\n  bl px_vfork_next\n"
    "  ldp x29, x30, [sp], #16\n  .cfi_adjust_cfa_offset -16\n  mov x16, x0\n  br x16\n  .cfi_endproc\n.size vfork, "
    ".-vfork\n");
#endif
#endif
