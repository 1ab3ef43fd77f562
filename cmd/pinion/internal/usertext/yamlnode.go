package usertext

import (
	"encoding/json"
	"math"
	"strings"
)

// NodeKind is what a value in a YAML file is.
type NodeKind int

const (
	Null NodeKind = iota
	Mapping
	List
	Text   // in quotes, or a word that is nothing else
	Number // as 3.10: Node.Text has it as it is written
	Bool
	Other // of a type that the file names
)

func (k NodeKind) String() string {
	return [...]string{"nothing", "a mapping", "a list", "a text", "a number", "a boolean", "a value of another type"}[k]
}

// Node is a value with its line.
type Node struct {
	Kind    NodeKind
	Line    int
	Text    string // of what is neither a mapping nor a list, as it is written
	Number  float64
	Entries []Entry
	Items   []*Node
}

// Entry is a key of a mapping, and its value.
type Entry struct {
	Key   string
	Line  int
	Value *Node
	// Again means that the key stands in the mapping before, in line First.
	Again bool
	First int
}

// Get returns the value of a key; nil if there is none. Of several entries the first counts: those that << merges stand
// last.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, entry := range n.Entries {
		if entry.Key == key {
			return entry.Value
		}
	}
	return nil
}

// Value returns what encoding/json makes JSON of. A number stays as it is written where JSON knows the form.
func (n *Node) Value() any {
	switch n.Kind {
	case Mapping:
		keys := map[string]any{}
		for _, entry := range n.Entries {
			if !entry.Again {
				keys[entry.Key] = entry.Value.Value()
			}
		}
		return keys
	case List:
		items := []any{}
		for _, item := range n.Items {
			items = append(items, item.Value())
		}
		return items
	case Null:
		return nil
	case Bool:
		return strings.EqualFold(n.Text, "true")
	case Number:
		if text := []byte(n.Text); json.Valid(text) {
			return json.Number(text)
		}
		if !math.IsNaN(n.Number) && !math.IsInf(n.Number, 0) {
			return n.Number
		}
	}
	return n.Text
}
