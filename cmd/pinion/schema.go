package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pinion/httpd/openapi"
	"pinion/pyembed/locate"
)

func newSchema() *cobra.Command {
	var s subject
	var input, output, train, static bool
	by := reader{how: readAuto}
	cmd := &cobra.Command{
		Use:   "schema [DIR]",
		Short: "Print the model's OpenAPI document",
		Long: `Print the OpenAPI document of the model in DIR (default: the current folder), as a server without further flags
answers it at /openapi.json. The model's part is the file .cog/openapi_schema.json where there is one, else made from
the source. The model is not imported where its source alone tells enough, so its packages need not be installed; it is
never imported with --static. Where its files run commands or download when they are imported, that takes --execute.`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if input && output {
				return fmt.Errorf("--input and --output: give one of them, or none for the whole document")
			}
			if err := by.check(); err != nil {
				return err
			}
			if static {
				if by.execute {
					return fmt.Errorf("--static and --execute: give one of them")
				}
				by.how = readStatic
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
				document, err = openapi.Complete(document, served(m))
			} else {
				document, err = component(document, componentName(output, train))
			}
			if err != nil {
				return failed(err)
			}
			return failed(printJSON(os.Stdout, document))
		},
	}
	s.bindFlags(cmd.Flags())
	by.bindFlags(cmd.Flags())
	cmd.Flags().BoolVar(&static, "static", false, "read the source alone: never import the model")
	cmd.Flags().BoolVar(&input, "input", false, "only the schema of the input")
	cmd.Flags().BoolVar(&output, "output", false, "only the schema of the output")
	cmd.Flags().BoolVar(&train, "train", false, "with --input or --output: that of the train function")
	return cmd
}

// served is what the document says of a server without flags.
func served(m *model) openapi.Server {
	return openapi.Server{Title: m.title(), Docs: true, Metrics: true, Shutdown: true}
}

// document is the OpenAPI document of a model.
func (s *subject) document(m *model, train bool, by reader) ([]byte, error) {
	if train {
		if err := trains(m); err != nil {
			return nil, err
		}
	}
	stored, err := readStored(m.Dir)
	if err != nil {
		return nil, failed(err)
	}
	python, err := locate.Interpreter(s.options(m))
	if stored != nil && m.NoneDefaults != noneOptional { // no Python is needed for this
		if err == nil {
			err = compareStored(m, python, stored, by)
		}
		return stored, interrupted(err)
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	r, err := readSource(m, python, by)
	if err == nil && r.Document == nil {
		err = &problemsError{r}
		if by.how == readStatic && len(r.Problems) == 0 {
			err = fmt.Errorf("%w\n    without --static the model is imported where its source does not tell", err)
		}
	}
	if err != nil {
		return nil, failed(err)
	}
	if stored != nil {
		document, err := withNoneDefaults(stored, r.Document)
		warnOfStored(document, r.Document)
		return document, failed(err)
	}
	return r.Document, nil
}

// compareStored warns of a document that disagrees with the source, as far as the source alone tells.
func compareStored(m *model, python *locate.Python, stored []byte, by reader) error {
	by.how = readStatic
	r, err := readSource(m, python, by)
	if err != nil || r.Document == nil {
		return err
	}
	warnOfStored(stored, r.Document)
	return nil
}

func warnOfStored(stored, made []byte) {
	for _, difference := range compareSchemas(stored, made) {
		fmt.Fprintf(os.Stderr, "warning: %s disagrees with the source: %s\n", storedSchema, difference)
	}
}

// interrupted is an error that a user's signal is the reason of, else nil.
func interrupted(err error) error {
	if exit, is := err.(*exitError); is && exit.code == exitInterrupted {
		return err
	}
	return nil
}

// componentName is what the document calls an input or an output.
func componentName(output, train bool) string {
	name := "Input"
	if output {
		name = "Output"
	}
	if train {
		name = "Training" + name
	}
	return name
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

// printJSON writes a document indented by two.
func printJSON(w io.Writer, document []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, document, "", "  "); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}
