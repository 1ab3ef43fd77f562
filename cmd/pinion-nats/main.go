package main

import (
	"os"

	"pinion/cmd/internal/version"
	"pinion/runtime/natsserver"
)

func main() { os.Exit(natsserver.Main(os.Args[1:], version.Build())) }
