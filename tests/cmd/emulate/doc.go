// Command emulate runs a command where programs for arm64 run too, by QEMU.
//
//	emulate COMMAND [ARGUMENT...]
//
// Linux starts a program of another processor by its interpreter in binfmt_misc. Here that is registered in user and
// mount namespaces of the command's own, in which root is root and every user is itself: the system stays as it is.
// That needs root, Linux 6.7 or newer and the package qemu-user-static. Where arm64 is the processor the command just
// runs.
package main
