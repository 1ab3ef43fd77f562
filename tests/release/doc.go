// Package release installs the files of a release into empty systems, by the commands of docs/how-to/install.md, and
// serves examples/hello there. `./build.sh release-test` makes the release and the systems, and runs these tests; they
// need root.
//
// A system is a root file system of Debian below a writable layer, entered by chroot. That of arm64 runs by QEMU
// (tests/cmd/emulate).
package release
