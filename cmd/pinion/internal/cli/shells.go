package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// refuseShells makes 'pinion completion' refuse a shell that it does not know.
func refuseShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		describeShells(c)
		mendScripts(c)
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			return fmt.Errorf("unknown shell %q: must be one of %s", args[0], strings.Join(shells, ", "))
		}
	}
}

// describeShells says how a shell of Linux loads its script; cobra's texts are for macOS too.
func describeShells(completion *cobra.Command) {
	completion.Short = "Print the script by which a shell completes pinion's commands, flags and inputs"
	completion.Long = completion.Short + "."
	completion.Example = "  source <(pinion completion bash)\n  source <(pinion completion zsh)\n" +
		"  pinion completion fish | source"
	for _, c := range completion.Commands() {
		lines := map[string]string{
			"bash": "  source <(pinion completion bash)\n" +
				"  pinion completion bash > ~/.local/share/bash-completion/completions/pinion",
			"fish": "  pinion completion fish | source\n  pinion completion fish > ~/.config/fish/completions/pinion.fish",
			"powershell": "  pinion completion powershell | Out-String | Invoke-Expression\n" +
				"  pinion completion powershell >> $PROFILE",
			"zsh": "  source <(pinion completion zsh)\n  pinion completion zsh > \"${fpath[1]}/_pinion\"",
		}[c.Name()]
		needs := map[string]string{
			"bash": " The second command needs the package bash-completion.",
			"zsh":  " It needs 'autoload -U compinit; compinit' in ~/.zshrc, above it.",
		}[c.Name()]
		c.Short = "Print the script for " + c.Name()
		c.Long = c.Short + ". The first command loads it into this shell, the second for every new one." + needs
		c.Example = lines
		c.Args = noArguments
		c.Flags().Lookup("no-descriptions").Usage = "complete words without their descriptions"
	}
}

// mendScripts has the commands print cobra's scripts with their faults mended.
func mendScripts(completion *cobra.Command) {
	for _, c := range completion.Commands() {
		if faultsOf(c.Name()) != nil {
			c.RunE = printMended
		}
	}
}

// faultsOf returns what mends cobra's script for a shell; nil means nothing does.
func faultsOf(shell string) func() *strings.Replacer {
	switch shell {
	case "bash":
		return bashFaults
	case "fish":
		return fishFaults
	case "zsh":
		return zshFaults
	}
	return nil
}

func printMended(shell *cobra.Command, _ []string) error {
	plain, err := shell.Flags().GetBool("no-descriptions")
	if err != nil {
		return err
	}
	var script bytes.Buffer
	if err := printScript(shell, &script, !plain); err != nil {
		return err
	}
	_, err = faultsOf(shell.Name())().WriteString(os.Stdout, script.String())
	return err
}

// printScript prints cobra's script for the shell that a command is named after.
func printScript(shell *cobra.Command, w io.Writer, descriptions bool) error {
	root := shell.Root()
	switch {
	case shell.Name() == "bash":
		return root.GenBashCompletionV2(w, descriptions)
	case shell.Name() == "fish":
		return root.GenFishCompletion(w, descriptions)
	case descriptions:
		return root.GenZshCompletion(w)
	}
	return root.GenZshCompletionNoDesc(w)
}

// bashFaults has the script split the line itself. Cobra's needs the package bash-completion for that, which splits
// name=@FILE at the @, and then completes no file.
func bashFaults() *strings.Replacer {
	return strings.NewReplacer(
		`    _get_comp_words_by_ref "$@" cur prev words cword
`, `    # Bash has split the words at the characters of COMP_WORDBREAKS too: join those without a space between.
    local i rest=${COMP_LINE:0:COMP_POINT} word
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i == 0 || $rest == [[:space:]]* ]]; then
            ((cword += 1))
            rest=${rest#"${rest%%[![:space:]]*}"}
        fi
        ((i == COMP_CWORD)) && word=$rest
        words[cword]+=$word
        rest=${rest#"$word"}
    done
    cur=${words[cword]} prev=${words[cword-1]}
`,
		`    if declare -F _init_completion >/dev/null 2>&1; then
        _init_completion -n =: || return
    else
        __pinion_init_completion -n =: || return
    fi
`, `    __pinion_init_completion
`,
		`    # Call _init_completion from the bash-completion package
    # to prepare the arguments properly
`, "",
		`# Macs have bash3 for which the bash-completion package doesn't include
# _init_completion. This is a minimal version of that function.
`, "",
		`    __pinion_handle_special_char "$cur" :
    __pinion_handle_special_char "$cur" =
`, `    # Bash replaces what is behind the last of these characters, and the character too if it is @.
    local chars=${COMP_WORDBREAKS//[^:=@]/}
    local before=${cur%"${cur##*["$chars"]}"}
    COMPREPLY=("${COMPREPLY[@]#"${before%@}"}")
`)
}

// fishFaults has the script take --input=style= for a completion, not for a flag of fish, and --input= for the flag of
// --input=style=oil.
func fishFaults() *strings.Replacer {
	return strings.NewReplacer(
		`(string split --max 1 \t `, `(string split --max 1 -- \t `,
		`(string match -r -- '-.*='`, `(string match -r -- '^-[^=]*='`)
}

// zshFaults has the script take --input= for the flag of --input=style=oil.
func zshFaults() *strings.Replacer { return strings.NewReplacer(`=~ '-.*='`, `=~ '^-[^=]*='`) }
