// Package images builds images with `pinion build` and runs them, and serves a folder with deploy/compose.yaml.
//
// buildah builds them (chroot isolation) and podman runs them as containers without a network and without cgroups. No
// registry is asked: the base is a root file system of Debian made by debootstrap, and uv comes from PyPI. `./build.sh
// images` makes both and runs these tests; they need root.
package images
