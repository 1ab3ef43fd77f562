package inputs

import "encoding/json"

// Choices returns the values of an input that has a few; nil means it has others, or there is no such input.
func (f *Fields) Choices(name string) (choices []string) {
	s := f.named[name]
	if s == nil {
		return nil
	}
	for _, option := range f.options(s) {
		if option.Type == "boolean" {
			choices = append(choices, "true", "false")
		}
		for _, value := range option.Enum {
			var text string
			if json.Unmarshal(value, &text) != nil {
				text = string(value)
			}
			choices = append(choices, text)
		}
	}
	return choices
}
