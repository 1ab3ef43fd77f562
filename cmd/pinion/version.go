package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Stamped by build.sh.
var (
	version = "dev"
	commit  = "unknown"
	date    = "unknown"
)

// cogVersion is the version of the cog interface that the SDK implements.
const cogVersion = "0.23.1"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions that matter in a bug report",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "pinion %s (commit %s, %s)\ncog interface %s\n%s %s/%s\n",
				version, commit, date, cogVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, path := range []string{"github.com/valyala/fasthttp", "github.com/bytedance/sonic"} {
				fmt.Fprintf(out, "%s %s\n", path, moduleVersion(path))
			}
			return nil
		},
	}
}

func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}
