# For those who type make: each target is a command of build.sh, which `make help` lists.
.PHONY: build help test lint fmt race asan fuzz bench clean
build help test lint fmt race asan fuzz bench clean:
	./build.sh $@
