package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"pinion/cmd/internal/version"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions that matter in a bug report",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), versions())
			return err
		},
	}
}

// versions returns what 'pinion version', --version and -v print.
func versions() string {
	text := fmt.Sprintf("pinion %s (commit %s, %s)\ncog interface %s\n%s %s/%s\n",
		version.Pinion, version.Commit, version.Date, version.Cog, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, path := range []string{"github.com/valyala/fasthttp", "github.com/bytedance/sonic"} {
		text += fmt.Sprintf("%s %s\n", path, moduleVersion(path))
	}
	return text
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
