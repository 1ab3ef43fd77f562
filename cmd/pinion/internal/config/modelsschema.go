package config

import (
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
)

// ModelsSchema returns the JSON Schema of pinion.yaml, for editors. Its keys are the flags of a model.
func ModelsSchema() map[string]any {
	const bytesHelp = ", as 2GiB."
	bytes := func(about string) map[string]any {
		return map[string]any{"type": []string{"string", "integer"}, "description": about + bytesHelp}
	}
	properties := map[string]any{
		keyPath:   map[string]any{"type": "string", "description": "The model's folder, from the file's folder."},
		keyMemory: bytes("How much of the memory of all models it needs"),
	}
	s, flags := &Serve{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	s.Model.bindKeys(flags)
	for _, setting := range s.Model.list {
		if setting.Name == "" {
			continue
		}
		property := map[string]any{"type": keyTypes(&setting), "description": setting.Help + setting.Remark()}
		if setting.Words != nil {
			property["enum"] = setting.Words
		}
		if of, is := setting.To.(interface{ Enum() []any }); is {
			property["enum"] = of.Enum()
		}
		properties[setting.Name] = property
	}
	entry := map[string]any{
		"type": "object", "properties": properties, "additionalProperties": false, "required": []string{keyPath},
	}
	return map[string]any{
		"$schema": model.JSONSchemaDialect, "title": "pinion.yaml", "type": "object", "required": []string{keyModels},
		"patternProperties": map[string]any{"^x-": map[string]any{}}, "additionalProperties": false,
		"properties": map[string]any{
			keyDefault: map[string]any{"type": "string", "description": "The model that also answers at the root."},
			keyMemory:  bytes("What loaded models may have together"),
			keyTraffic: map[string]any{
				"type": "object", "description": "Shares of versions in percent, as ocr@1: 90.",
				"additionalProperties": map[string]any{"type": "integer", "minimum": 0, "maximum": allShares},
			},
			keyMirror: map[string]any{
				"type": []string{"string", "array"}, "items": map[string]any{"type": "string"},
				"description": "The version, or one for each model, that gets copies of the requests that others serve.",
			},
			keyModels: map[string]any{
				"type": "object", "additionalProperties": entry,
				"propertyNames": map[string]any{"pattern": versionedNamePattern(), "maxLength": longestModelName + 64},
			},
		},
	}
}

// versionedNamePattern returns the form of a name with or without a version.
func versionedNamePattern() string {
	return strings.TrimSuffix(modelName().String(), "$") + "(@" +
		strings.TrimSuffix(strings.TrimPrefix(versionForm().String(), "^"), "$") + ")?$"
}

// keyTypes returns the types that a key's value may be written as.
func keyTypes(s *usertext.Setting) []string {
	switch s.Type() {
	case "bool":
		return []string{"boolean"}
	case "int":
		return []string{"integer"}
	}
	return []string{"string", "number", "boolean"}
}
