package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/process"
)

func newInit() *cobra.Command {
	var template string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a new model's folder, which serves at once",
		Long:  initHelp(),
		Example: `  pinion init greeter
  pinion init --template chat assistant
  pinion init --template image ./thumbnails`,
		Args: oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := findStarter(template)
			if err != nil {
				return process.Misused(err)
			}
			return process.Failed(s.write(folderOf(args), os.Stdout))
		},
	}
	cmd.Flags().StringVar(&template, "template", starters()[0].name,
		"`kind` of model to begin with: text, image, chat, sklearn or batch")
	_ = cmd.RegisterFlagCompletionFunc("template", func(*cobra.Command, []string, string) (
		names []string, _ cobra.ShellCompDirective,
	) {
		for _, s := range starters() {
			names = append(names, s.name+"\t"+s.about)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func initHelp() string {
	text := `Make a starting project in DIR (default: the current folder): cog.yaml, run.py, a test of it, requirements.txt,
README.md, .gitignore, .dockerignore and settings for editors. What is there already is never overwritten.

Templates:
`
	for _, s := range starters() {
		text += fmt.Sprintf("  %-9s %s\n", s.name, s.about)
	}
	return text
}
