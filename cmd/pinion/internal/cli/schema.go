package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/httpd"
	"pinion/httpd/openapi"
	"pinion/httpd/protocol"
	"pinion/pyembed/locate"
	"pinion/runtime/schema"
)

func newSchema() *cobra.Command {
	var s model.Flags
	var input, output, train, static bool
	var of, function string
	by := model.Reader{How: model.ReadAuto}
	cmd := &cobra.Command{
		Use:   "schema [DIR]",
		Short: "Print the model's OpenAPI document",
		Long: `Print the OpenAPI document of the model in DIR (default: the current folder), as a server without further flags
answers it at /openapi.json. The model's part is the file .cog/openapi_schema.json where there is one, else made from
the source. The model is not imported where its source alone tells enough, so its packages need not be installed; it is
never imported with --static. Reading the source evaluates what of its top level only computes, without foreign packages:
it starts no program, writes no file and uses no network. Where its files run commands or download when they are imported,
that takes --execute.

With --of it prints the JSON Schema of a file that Pinion reads, which editors complete and check with.`,
		Example: `  pinion schema
  pinion schema ./ocr --input
  pinion schema --of cog.yaml > cog.schema.json`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if of != "" {
				return printFileSchema(of)
			}
			if input && output {
				return fmt.Errorf("--input and --output: give one of them, or none for the whole document")
			}
			if err := by.Check(); err != nil {
				return err
			}
			if static {
				if by.Execute {
					return fmt.Errorf("--static and --execute: give one of them")
				}
				by.How = model.ReadStatic
			}
			m, err := findModel(&s, folderOf(args))
			if err != nil {
				return err
			}
			if train {
				if err := requireTrain(m); err != nil {
					return err
				}
			}
			python, noPython := locate.Interpreter(s.Locate(m.Dir))
			document, err := model.ServedDocument(m, python, by, os.Stderr)
			switch {
			case errors.Is(err, model.ErrNoPython):
				return process.Misused(noPython)
			case err != nil:
				return process.Failed(err)
			}
			train = train || m.Ref == "" // it has no other function
			described := served(m, document)
			if function != "" {
				if document, err = functionOf(document, function); err != nil {
					return process.Misused(err)
				}
				described = openapi.Server{Title: function, Prefix: "/functions/" + function}
			}
			if !input && !output {
				document, err = openapi.Complete(document, described)
			} else {
				document, err = inputs.Component(document, schema.ComponentName(output, train))
			}
			if err != nil {
				return process.Failed(err)
			}
			return process.Failed(inputs.PrintJSON(os.Stdout, document))
		},
	}
	s.BindFlags(cmd.Flags())
	by.BindFlags(cmd.Flags())
	cmd.Flags().BoolVar(&static, "static", false, "read the source alone: never import the model")
	cmd.Flags().BoolVar(&input, "input", false, "only the schema of the input")
	cmd.Flags().BoolVar(&output, "output", false, "only the schema of the output")
	bindFunction(cmd, &function)
	cmd.Flags().BoolVar(&train, "train", false, "with --input or --output: that of the train function")
	usertext.Settings{{
		To: &of, Name: "of", Variable: usertext.NoVariable, Words: []string{model.CogFile, modelsFile},
		Help: "the JSON Schema of `cog.yaml|pinion.yaml` instead",
	}}.Bind(cmd.Flags())
	return cmd
}

// modelsFile is the usual name of the file of --config.
const modelsFile = "pinion.yaml"

// printFileSchema prints the JSON Schema of a file that the commands read.
func printFileSchema(name string) error {
	schema := map[string]func() map[string]any{model.CogFile: model.CogSchema, modelsFile: config.ModelsSchema}[name]()
	text, err := json.Marshal(schema)
	if err != nil {
		return process.Failed(err)
	}
	return process.Failed(inputs.PrintJSON(os.Stdout, text))
}

// served returns what the document says of a server without flags.
func served(m *model.Model, document []byte) openapi.Server {
	protocols := (&config.Protocols{Names: protocol.Names()}).List(nil) // which make no use of models before a request
	return openapi.Server{
		Title: m.Title(), Docs: true, Metrics: true, Shutdown: true,
		Routes: httpd.DocumentRoutes(protocols, document),
	}
}
