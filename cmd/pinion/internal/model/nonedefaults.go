package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"pinion/runtime/schema"
)

// NoneDefaults is what the default None means for an input whose type has no None, as in `seed: int =
// Input(default=None)`. The zero value says nothing. It implements pflag.Value.
type NoneDefaults string

const (
	noneRequired NoneDefaults = "required" // a request must bring the input, as with Cog 0.23
	// the input may be null, and is null if a request leaves it out, as with older Cog
	NoneOptional NoneDefaults = "optional"

	NoneDefaultsVariable = "PINION_NONE_DEFAULTS"
)

func (n *NoneDefaults) Set(v string) error {
	if v != string(noneRequired) && v != string(NoneOptional) {
		return fmt.Errorf("%q: must be %s or %s", v, noneRequired, NoneOptional)
	}
	*n = NoneDefaults(v)
	return nil
}

func (n *NoneDefaults) String() string { return string(*n) }

func (n *NoneDefaults) Type() string { return "required|optional" }

// SettleNoneDefaults gives the model the setting: the flag, else the variable, else that of its cog.yaml.
func (m *Model) SettleNoneDefaults(flag NoneDefaults) error {
	if flag != "" {
		m.NoneDefaults = flag
		return nil
	}
	if v := m.Getenv(NoneDefaultsVariable); v != "" {
		if err := m.NoneDefaults.Set(v); err != nil {
			return fmt.Errorf("%s: %w", NoneDefaultsVariable, err)
		}
	}
	return nil
}

// WithNoneDefaults returns the document that a model brings, with the inputs that may be null by the document made from
// its source. The tool that made the first does not know NoneOptional.
func WithNoneDefaults(stored, own []byte) ([]byte, error) {
	optional, err := nullInputs(own)
	if err != nil {
		return nil, fmt.Errorf("read the model's schema: %w", err)
	}
	changed, err := changeMember(stored, []string{"components", "schemas"}, func(schemas object) error {
		for component, names := range optional {
			if schemas[component] == nil {
				continue
			}
			data, err := letBeNull(schemas[component], names)
			if err != nil {
				return fmt.Errorf("%s: %w", component, err)
			}
			schemas[component] = data
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", StoredSchema, err)
	}
	return changed, nil
}

// nullInputs returns the inputs of a document whose default is null, by component.
func nullInputs(document []byte) (map[string][]string, error) {
	d, err := schema.ReadDocument[struct {
		Properties map[string]object `json:"properties"`
	}](document)
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, component := range []string{schema.ComponentName(false, false), schema.ComponentName(false, true)} {
		for name, property := range d.Schemas[component].Properties {
			if bytes.Equal(property["default"], []byte("null")) {
				found[component] = append(found[component], name)
			}
		}
	}
	return found, nil
}

// letBeNull returns an input component in which these inputs may be null, unless it gives them a default.
func letBeNull(component []byte, names []string) ([]byte, error) {
	return changeMember(component, nil, func(c object) error {
		var required []string
		if c["required"] != nil {
			if err := json.Unmarshal(c["required"], &required); err != nil {
				return fmt.Errorf("required: %w", err)
			}
		}
		properties, err := changeMember(c["properties"], nil, func(properties object) error {
			for _, name := range names {
				if !slices.Contains(required, name) || properties[name] == nil {
					continue
				}
				data, err := changeMember(properties[name], nil, func(property object) error {
					if property["default"] == nil {
						property["default"], property["nullable"] = []byte("null"), []byte("true")
						required = slices.DeleteFunc(required, func(r string) bool { return r == name })
					}
					return nil
				})
				if err != nil {
					return fmt.Errorf("property %q: %w", name, err)
				}
				properties[name] = data
			}
			return nil
		})
		if err != nil {
			return err
		}
		c["properties"] = properties
		if delete(c, "required"); len(required) > 0 {
			c["required"], err = json.Marshal(required)
		}
		return err
	})
}

// object is a JSON object whose members are left as they are.
type object map[string]json.RawMessage

// changeMember returns data, a JSON object, with the object at that path changed.
func changeMember(data []byte, path []string, change func(object) error) ([]byte, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	var err error
	if len(path) == 0 {
		err = change(o)
	} else {
		o[path[0]], err = changeMember(o[path[0]], path[1:], change)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}
