package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/contain"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/schemadiff"
	"pinion/cmd/pinion/internal/usage"
	"pinion/httpd"
	"pinion/httpd/openapi"
	"pinion/httpd/protocol"
	"pinion/pyembed/locate"
)

func newSchema() *cobra.Command {
	var s modelFlags
	var input, output, train, static bool
	by := model.Reader{How: model.ReadAuto}
	cmd := &cobra.Command{
		Use:   "schema [DIR]",
		Short: "Print the model's OpenAPI document",
		Long: `Print the OpenAPI document of the model in DIR (default: the current folder), as a server without further flags
answers it at /openapi.json. The model's part is the file .cog/openapi_schema.json where there is one, else made from
the source. The model is not imported where its source alone tells enough, so its packages need not be installed; it is
never imported with --static. Reading the source evaluates its top level without foreign packages, and starts no
program, writes no file and uses no network. Where its files run commands or download when they are imported, that takes --execute.`,
		Args: usage.OneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
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
			m, err := s.model(folderOf(args))
			if err != nil {
				return err
			}
			document, err := s.document(m, train, by)
			if err != nil {
				return err
			}
			train = train || m.Ref == "" // it has no other function
			if !input && !output {
				document, err = openapi.Complete(document, served(m, document))
			} else {
				document, err = component(document, modelio.ComponentName(output, train))
			}
			if err != nil {
				return failed(err)
			}
			return failed(modelio.PrintJSON(os.Stdout, document))
		},
	}
	s.bindFlags(cmd.Flags())
	by.BindFlags(cmd.Flags())
	cmd.Flags().BoolVar(&static, "static", false, "read the source alone: never import the model")
	cmd.Flags().BoolVar(&input, "input", false, "only the schema of the input")
	cmd.Flags().BoolVar(&output, "output", false, "only the schema of the output")
	cmd.Flags().BoolVar(&train, "train", false, "with --input or --output: that of the train function")
	return cmd
}

// served is what the document says of a server without flags.
func served(m *model.Model, document []byte) openapi.Server {
	protocols := (&protocolSettings{names: protocol.Names()}).protocols(nil) // which make no use of models before a request
	return openapi.Server{Title: m.Title(), Docs: true, Metrics: true, Shutdown: true, Routes: httpd.DocumentRoutes(protocols, document)}
}

// document is the OpenAPI document of a model.
func (s *modelFlags) document(m *model.Model, train bool, by model.Reader) ([]byte, error) {
	if train {
		if err := trains(m); err != nil {
			return nil, err
		}
	}
	stored, err := model.ReadStored(m.Dir)
	if err != nil {
		return nil, failed(err)
	}
	python, err := locate.Interpreter(s.options(m))
	if stored != nil && m.NoneDefaults != model.NoneOptional { // no Python is needed for this
		if err == nil {
			err = compareStored(m, python, stored, by)
		}
		return stored, interrupted(err)
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	r, err := model.ReadSource(m, python, by)
	if err == nil && r.Document == nil {
		err = &model.ProblemsError{Reading: r}
		if by.How == model.ReadStatic && len(r.Problems) == 0 {
			err = fmt.Errorf("%w\n    without --static the model is imported where its source does not tell", err)
		}
	}
	if err != nil {
		return nil, failed(err)
	}
	if stored != nil {
		document, err := model.WithNoneDefaults(stored, r.Document)
		warnOfStored(document, r.Document)
		return document, failed(err)
	}
	return r.Document, nil
}

// compareStored warns of a document that disagrees with the source, as far as the source alone tells.
func compareStored(m *model.Model, python *locate.Python, stored []byte, by model.Reader) error {
	by.How = model.ReadStatic
	r, err := model.ReadSource(m, python, by)
	if err != nil || r.Document == nil {
		return err
	}
	warnOfStored(stored, r.Document)
	return nil
}

func warnOfStored(stored, made []byte) {
	for _, difference := range schemadiff.Compare(stored, made) {
		fmt.Fprintf(os.Stderr, "warning: %s disagrees with the source: %s\n", model.StoredSchema, difference)
	}
}

// interrupted is an error that a user's signal is the reason of, else nil.
func interrupted(err error) error {
	if errors.Is(err, contain.ErrInterrupted) {
		return failed(err)
	}
	return nil
}

// component is one of a document's schemas, as it stands there.
func component(document []byte, name string) ([]byte, error) {
	var d struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	found, ok := d.Components.Schemas[name]
	if !ok {
		return nil, fmt.Errorf("the document has no schema %s", name)
	}
	return found, nil
}
