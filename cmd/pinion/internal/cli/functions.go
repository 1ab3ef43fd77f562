package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

func bindFunction(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "function", "", "the `name` of a method with @cog.function, instead of run")
}

// functionOf returns the part of a model's document that is of a function, "" being its run.
func functionOf(document []byte, name string) ([]byte, error) {
	functions := schema.Functions(document)
	known := slices.Sorted(maps.Keys(functions))
	if own, ok := functions[name]; ok {
		return own.Document, nil
	}
	if name != "" {
		return nil, &predict.NoFunctionError{Name: name, Known: known}
	}
	if _, err := inputs.Component(document, schema.ComponentName(false, false)); err != nil && len(known) > 0 {
		return nil, fmt.Errorf("the model has no run(), only functions: give --function %s", strings.Join(known, " or "))
	}
	return document, nil
}
