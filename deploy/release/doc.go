// Command release makes the files of a release from the binaries of each architecture.
//
// `./build.sh release` compiles the binaries and starts it. In the output folder it makes, for each architecture,
//
//	pinion_VERSION_linux_ARCH.tar.gz        the binary and pinion-nats, their licences and their SBOM
//	pinion_VERSION_linux_ARCH.deb           the same as a Debian package, made by nfpm
//	pinion_VERSION_linux_ARCH.cdx.json      the SBOM, CycloneDX 1.6
//	pinion_server-VERSION-py3-none-TAG.whl  a wheel that holds only the commands
//
// and once NOTICES.txt, the licence of every module and tool of which a part is in a binary, and SHA256SUMS.
//
// The same binaries and the same -time give the same bytes: no clock, no user, no order of a map or a folder is read.
// A linked module without a licence text, or with a licence that is not in allowedLicences, is an error.
package main
