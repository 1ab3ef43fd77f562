package yamltree

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"
)

// Kind is what a value in a YAML file is.
type Kind int

const (
	Null Kind = iota
	Mapping
	List
	Text   // in quotes, or a word that is nothing else
	Number // as 3.10: Node.Text has it as it is written
	Bool
	Other // of a type that the file names
)

func (k Kind) String() string {
	return [...]string{"nothing", "a mapping", "a list", "a text", "a number", "a boolean", "a value of another type"}[k]
}

// Node is a value with its line.
type Node struct {
	Kind    Kind
	Line    int
	Text    string // of what is neither a mapping nor a list, as it is written
	Number  float64
	Entries []Entry
	Items   []*Node
}

// Entry is a key of a mapping, and its value.
type Entry struct {
	Key    string
	Line   int
	Value  *Node
	merged bool // by <<, from another mapping; a key of this one counts before it
	// Again: the key stands in the mapping before, in line First.
	Again bool
	First int
}

// Get is the value of a key; nil where there is none.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	var found *Node
	for _, entry := range n.Entries {
		if entry.Key == key && (found == nil || !entry.merged && !entry.Again) {
			found = entry.Value
		}
	}
	return found
}

// SyntaxError is a fault in the YAML itself.
type SyntaxError struct {
	Line int // 0: unknown
	What string
}

func (e *SyntaxError) Error() string { return e.What }

// Parse returns the documents of a file that hold something, in order. The error is a *SyntaxError.
func Parse(data []byte) (documents []*Node, err error) {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Syntax(err)
	}
	for _, document := range file.Docs {
		if document.Body != nil {
			documents = append(documents, read(document.Body))
		}
	}
	return documents, nil
}

// Syntax is an error of Parse, or of the YAML library, with its line.
func Syntax(err error) *SyntaxError {
	var e *SyntaxError
	if errors.As(err, &e) {
		return e
	}
	e = &SyntaxError{What: err.Error()}
	var at yaml.Error
	if errors.As(err, &at) {
		e.What = at.GetMessage()
		if t := at.GetToken(); t != nil {
			e.Line = t.Position.Line
		}
	}
	return e
}

// read makes the tree of a document. Anchors are followed; merged mappings count as keys that are not repeated.
func read(body ast.Node) *Node {
	anchors := map[string]ast.Node{}
	ast.Walk(anchorFinder(anchors), body)
	return (&reader{anchors: anchors}).read(body, 0)
}

type anchorFinder map[string]ast.Node

func (f anchorFinder) Visit(node ast.Node) ast.Visitor {
	if anchor, ok := node.(*ast.AnchorNode); ok && anchor.Name != nil {
		f[anchor.Name.GetToken().Value] = anchor.Value
	}
	return f
}

type reader struct {
	anchors map[string]ast.Node
	nodes   int // made so far
}

// deepest and most bound anchors that hold themselves, or each other many times.
const (
	deepest = 50
	most    = 100_000
)

func (r *reader) read(node ast.Node, depth int) *Node {
	out := &Node{}
	r.nodes++
	if node == nil || depth > deepest || r.nodes > most {
		return out
	}
	if at := node.GetToken(); at != nil {
		out.Line, out.Text = at.Position.Line, at.Value
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		return r.read(n.Value, depth+1)
	case *ast.AliasNode:
		inner := r.read(r.anchors[n.Value.GetToken().Value], depth+1)
		inner.Line = out.Line
		return inner
	case *ast.MappingNode:
		out.Kind = Mapping
		for _, value := range n.Values {
			r.entry(out, value, depth)
		}
		out.Line = firstLine(out)
	case *ast.MappingValueNode:
		out.Kind = Mapping
		r.entry(out, n, depth)
		out.Line = firstLine(out)
	case *ast.SequenceNode:
		out.Kind = List
		for _, item := range n.Values {
			out.Items = append(out.Items, r.read(item, depth+1))
		}
	case *ast.StringNode, *ast.LiteralNode:
		out.Kind = Text
		if literal, ok := n.(*ast.LiteralNode); ok {
			out.Text = literal.Value.Value
		}
		if number, ok := exponent(n); ok {
			out.Kind, out.Number = Number, number
		}
	case *ast.IntegerNode:
		out.Kind = Number
		switch value := n.Value.(type) {
		case int64:
			out.Number = float64(value)
		case uint64:
			out.Number = float64(value)
		}
	case *ast.FloatNode:
		out.Kind, out.Number = Number, n.Value
	case *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Number = Number, math.NaN()
	case *ast.BoolNode:
		out.Kind = Bool
	case *ast.NullNode:
		out.Text = ""
	default:
		out.Kind = Other
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
func firstLine(mapping *Node) int {
	if len(mapping.Entries) > 0 && !mapping.Entries[0].merged {
		return mapping.Entries[0].Line
	}
	return mapping.Line
}

func (r *reader) entry(to *Node, value *ast.MappingValueNode, depth int) {
	if value.Key.IsMergeKey() {
		for _, entry := range r.read(value.Value, depth+1).Entries {
			if to.Get(entry.Key) == nil {
				entry.merged, entry.Again = true, false
				to.Entries = append(to.Entries, entry)
			}
		}
		return
	}
	at := value.Key.GetToken()
	entry := Entry{Key: at.Value, Line: at.Position.Line, Value: r.read(value.Value, depth+1)}
	for _, before := range to.Entries {
		if before.Key == entry.Key && !before.merged && !entry.Again {
			entry.Again, entry.First = true, before.Line
		}
	}
	to.Entries = append(to.Entries, entry)
}
