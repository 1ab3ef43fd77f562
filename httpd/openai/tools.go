package openai

import (
	"slices"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// Tool is a row of a dialect's table of the tools that the client runs and whose parameters both sides know: the model
// gets a function for one. A tool that has neither a row nor parameters is one that only a vendor's servers run: it is
// left out with a warning.
type Tool struct {
	Type string // a version follows one that ends in "_"
	// Name is what the model calls; "" means that the tool has a name.
	Name string
	// Description and Parameters are those of the function; Parameters are "" if the tool has them. A description of the
	// tool's replaces this one.
	Description, Parameters string
	// ClientRuns reports whether the client runs it; nil means always.
	ClientRuns func(tool []byte) bool
	// Call and Result are the types of the items of a call and of its result, and Member is that of the call with the
	// arguments, in a dialect whose calls have a type for each tool.
	Call, Member, Result string
}

// toolset is the tools of a request, and which of them the model is to call.
type toolset struct {
	given  bool
	tools  []handed
	mode   string // auto, none or required; "" means not given
	chosen string // a tool's name as the model has it; "" means none
}

// handed is a tool that is handed on.
type handed struct {
	name string // as the model has it
	json []byte
	Called
}

// Called is what the dialect has for a function that the model calls.
type Called struct {
	Kind        *Tool // nil means a function
	Space, Name string
}

// Called returns the tool that the model calls by a name.
func (t *Translation) Called(name string) Called {
	if at := t.indexOf(name); at >= 0 {
		return t.tools[at].Called
	}
	return Called{Name: name}
}

func (s *toolset) indexOf(name string) int {
	return slices.IndexFunc(s.tools, func(h handed) bool { return h.name == name })
}

// AddTools adds the tools of a list.
func (t *Translation) AddTools(param string, list []byte) *Error {
	if rawjson.KindOf(list) != array {
		return WrongType(param, "an array", list)
	}
	t.given = true
	return t.addTools(param, "", list)
}

func (t *Translation) addTools(param, space string, list []byte) *Error {
	for i, tool := range rawjson.Items(list) {
		at := Indexed(param, i)
		if rawjson.KindOf(tool) != object {
			return WrongType(at, "an object", tool)
		}
		if err := t.addTool(at, space, tool); err != nil {
			return err
		}
	}
	return nil
}

func (t *Translation) addTool(param, space string, tool []byte) *Error {
	w, kind := t.words, Text(tool, "type")
	row := w.tool(kind)
	switch {
	case kind == w.Tool, kind == "" && w.Untyped:
		return t.hand(param, space, tool, Tool{})
	case kind == w.Namespace && w.Namespace != "" && space == "":
		name, err := Required(param, tool, "name", text)
		if err != nil {
			return err
		}
		list, err := Required(param, tool, "tools", array)
		if err != nil {
			return err
		}
		return t.addTools(param+".tools", rawjson.Text(name), list)
	case row != nil && (row.ClientRuns == nil || row.ClientRuns(tool)):
		return t.hand(param, space, tool, *row)
	case kind == "":
		return Missing(param + ".type")
	case row == nil && Text(tool, "name") != "" && rawjson.KindOf(Member(tool, w.Schema)) == object:
		return t.hand(param, space, tool, Tool{})
	}
	t.LeaveOut("the tool " + kind + ", which only a vendor's servers run")
	return nil
}

// tool returns the row of a type, or nil.
func (w *Words) tool(kind string) *Tool {
	at := slices.IndexFunc(w.Tools, func(r Tool) bool {
		return r.Type == kind || strings.HasSuffix(r.Type, "_") && strings.HasPrefix(kind, r.Type)
	})
	if at < 0 {
		return nil
	}
	return &w.Tools[at]
}

// hand hands a tool on as a function.
func (t *Translation) hand(param, space string, tool []byte, row Tool) *Error {
	own := row.Name
	if own == "" {
		name, err := Required(param, tool, "name", text)
		if err != nil {
			return err
		}
		own = rawjson.Text(name)
	}
	h := handed{name: own, Called: Called{Space: space, Name: own}}
	if space != "" {
		h.name = spacedName(space, own)
	}
	if row.Type != "" {
		h.Kind = t.words.tool(row.Type)
	}
	h.json = rawjson.AppendQuoted([]byte(`{"type":"function","function":{"name":`), h.name)
	given := Member(tool, "description")
	if !IsGiven(given) && row.Description != "" {
		given = rawjson.AppendQuoted(nil, row.Description)
	}
	h.add("description", given)
	parameters := []byte(row.Parameters)
	if row.Parameters == "" {
		if parameters = Member(tool, t.words.Schema); t.words.NeedsSchema || IsGiven(parameters) {
			var err *Error
			if parameters, err = Required(param, tool, t.words.Schema, object); err != nil {
				return err
			}
		}
	}
	h.add("parameters", parameters)
	h.add("strict", Member(tool, "strict"))
	h.json = append(h.json, "}}"...)
	t.tools = append(t.tools, h)
	return nil
}

func (h *handed) add(name string, value []byte) {
	if IsGiven(value) {
		h.json = append(append(rawjson.AppendQuoted(append(h.json, ','), name), ':'), value...)
	}
}

// ChooseMode says whether the model calls tools: auto, none or required.
func (t *Translation) ChooseMode(mode string) { t.mode = mode }

// ChooseTool has the model call the tool that value names.
func (t *Translation) ChooseTool(value []byte) *Error {
	name, err := Required("tool_choice", value, "name", text)
	if err != nil {
		return err
	}
	if t.chosen = rawjson.Text(name); t.words.Namespace != "" && Text(value, "namespace") != "" {
		t.chosen = spacedName(Text(value, "namespace"), t.chosen)
	}
	return nil
}

// ChooseKind is ChooseTool for a tool that is named by its type.
func (t *Translation) ChooseKind(kind string) *Error {
	row := t.words.tool(kind)
	if row == nil || row.Name == "" {
		return Unsupported("tool_choice.type", "no tool of type '"+logtext.Clip(kind)+"' was handed on to the model")
	}
	t.chosen = row.Name
	return nil
}

// Keep keeps the tools of which keep reports true, and leaves the others out.
func (t *Translation) Keep(keep func(c Called) bool) {
	t.tools = slices.DeleteFunc(t.tools, func(h handed) bool { return !keep(h.Called) })
}

// EndTools adds the tools and the choice. A choice that no tool is left for is refused: the answer would be wrong.
func (t *Translation) EndTools() *Error {
	switch {
	case t.chosen != "" && t.given && t.indexOf(t.chosen) < 0:
		return WrongValue("tool_choice", "no tool '"+logtext.Clip(t.chosen)+"' was handed on to the model.")
	case t.mode == "required" && t.given && len(t.tools) == 0:
		return Unsupported("tool_choice", "none of the tools was handed on to the model, so it can call none")
	}
	if t.given {
		list := []byte{'['}
		for i := range t.tools {
			list = rawjson.Comma(list, i > 0)
			list = append(list, t.tools[i].json...)
		}
		t.Add("tools", append(list, ']'))
	}
	switch {
	case t.chosen != "":
		t.Add("tool_choice", append(rawjson.AppendQuoted([]byte(`{"type":"function","function":{"name":`), t.chosen), "}}"...))
	case t.mode != "" && (!t.given || len(t.tools) > 0):
		t.Add("tool_choice", rawjson.AppendQuoted(nil, t.mode))
	}
	return nil
}
