package model

import (
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	yamltoken "github.com/goccy/go-yaml/token"
)

// yamlKind is what a value in a YAML file is.
type yamlKind int

const (
	yamlNull yamlKind = iota
	yamlMapping
	yamlList
	yamlText   // in quotes, or a word that is nothing else
	yamlNumber // as 3.10: text has it as it is written
	yamlBool
	yamlOther // of a type that the file names
)

func (k yamlKind) String() string {
	return [...]string{"nothing", "a mapping", "a list", "a text", "a number", "a boolean", "a value of another type"}[k]
}

// yamlNode is a value with its line.
type yamlNode struct {
	kind    yamlKind
	line    int
	text    string // of what is neither a mapping nor a list, as it is written
	number  float64
	entries []yamlEntry
	items   []*yamlNode
}

// yamlEntry is a key of a mapping, and its value.
type yamlEntry struct {
	key    string
	line   int
	value  *yamlNode
	merged bool // by <<, from another mapping; a key of this one counts before it
	// again: the key stands in the mapping before, in line first.
	again bool
	first int
}

// get is the value of a key; nil where there is none.
func (n *yamlNode) get(key string) *yamlNode {
	if n == nil {
		return nil
	}
	var found *yamlNode
	for _, entry := range n.entries {
		if entry.key == key && (found == nil || !entry.merged && !entry.again) {
			found = entry.value
		}
	}
	return found
}

// readYAML makes the tree of a document. Anchors are followed; merged mappings count as keys that are not repeated.
func readYAML(body ast.Node) *yamlNode {
	anchors := map[string]ast.Node{}
	if body != nil {
		ast.Walk(anchorFinder(anchors), body)
	}
	return (&yamlReader{anchors: anchors}).read(body, 0)
}

type anchorFinder map[string]ast.Node

func (f anchorFinder) Visit(node ast.Node) ast.Visitor {
	if anchor, ok := node.(*ast.AnchorNode); ok && anchor.Name != nil {
		f[anchor.Name.GetToken().Value] = anchor.Value
	}
	return f
}

type yamlReader struct {
	anchors map[string]ast.Node
	nodes   int // made so far
}

// deepestYAML and mostYAML bound anchors that hold themselves, or each other many times.
const (
	deepestYAML = 50
	mostYAML    = 100_000
)

func (r *yamlReader) read(node ast.Node, depth int) *yamlNode {
	out := &yamlNode{}
	r.nodes++
	if node == nil || depth > deepestYAML || r.nodes > mostYAML {
		return out
	}
	if at := node.GetToken(); at != nil {
		out.line, out.text = at.Position.Line, at.Value
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		return r.read(n.Value, depth+1)
	case *ast.AliasNode:
		inner := r.read(r.anchors[n.Value.GetToken().Value], depth+1)
		inner.line = out.line
		return inner
	case *ast.MappingNode:
		out.kind = yamlMapping
		for _, value := range n.Values {
			r.entry(out, value, depth)
		}
		out.line = firstLine(out)
	case *ast.MappingValueNode:
		out.kind = yamlMapping
		r.entry(out, n, depth)
		out.line = firstLine(out)
	case *ast.SequenceNode:
		out.kind = yamlList
		for _, item := range n.Values {
			out.items = append(out.items, r.read(item, depth+1))
		}
	case *ast.StringNode, *ast.LiteralNode:
		out.kind = yamlText
		if literal, ok := n.(*ast.LiteralNode); ok {
			out.text = literal.Value.Value
		}
		if number, ok := exponent(n); ok {
			out.kind, out.number = yamlNumber, number
		}
	case *ast.IntegerNode:
		out.kind = yamlNumber
		switch value := n.Value.(type) {
		case int64:
			out.number = float64(value)
		case uint64:
			out.number = float64(value)
		}
	case *ast.FloatNode:
		out.kind, out.number = yamlNumber, n.Value
	case *ast.InfinityNode, *ast.NanNode:
		out.kind, out.number = yamlNumber, math.NaN()
	case *ast.BoolNode:
		out.kind = yamlBool
	case *ast.NullNode:
		out.text = ""
	default:
		out.kind = yamlOther
	}
	return out
}

// exponent is the number that a word without quotes is to Cog's YAML library, though not to ours: 4e0.
func exponent(n ast.Node) (float64, bool) {
	at := n.GetToken()
	if at.Type != yamltoken.StringType || at.Value == "" || !strings.Contains("+-.0123456789", at.Value[:1]) {
		return 0, false
	}
	number, err := strconv.ParseFloat(at.Value, 64)
	return number, err == nil
}

// firstLine is where a mapping begins: its node stands at its first colon.
func firstLine(mapping *yamlNode) int {
	if len(mapping.entries) > 0 && !mapping.entries[0].merged {
		return mapping.entries[0].line
	}
	return mapping.line
}

func (r *yamlReader) entry(to *yamlNode, value *ast.MappingValueNode, depth int) {
	if value.Key.IsMergeKey() {
		for _, entry := range r.read(value.Value, depth+1).entries {
			if to.get(entry.key) == nil {
				entry.merged, entry.again = true, false
				to.entries = append(to.entries, entry)
			}
		}
		return
	}
	at := value.Key.GetToken()
	entry := yamlEntry{key: at.Value, line: at.Position.Line, value: r.read(value.Value, depth+1)}
	for _, before := range to.entries {
		if before.key == entry.key && !before.merged && !entry.again {
			entry.again, entry.first = true, before.line
		}
	}
	to.entries = append(to.entries, entry)
}
