package usertext

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits of a file. The parser takes memory by these characters, a kilobyte and more each in a line without an end;
// an alias repeats all that its anchor holds.
const (
	maxSize   = 1 << 20
	maxParts  = 60_000
	parts     = "\n\r,:[]{}?!&*"
	maxDepth  = 50
	maxValues = 100_000 // those that aliases repeat included
)

// SyntaxError is a fault in the YAML itself.
type SyntaxError struct {
	Line int // 0 means unknown
	What string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

// ParseYAML returns the first two documents of a file that hold something: no file may have more than one. The error is
// a *SyntaxError.
func ParseYAML(data []byte) (documents []*Node, err error) {
	if len(data) > maxSize || countParts(data) > maxParts {
		return nil, &SyntaxError{What: fmt.Sprintf(
			"the file is too large: it may have 1 MiB, and %d lines, commas, colons and brackets", maxParts)}
	}
	file := yaml.NewDecoder(bytes.NewReader(data))
	for range maxParts {
		var document yaml.Node
		switch err := file.Decode(&document); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, syntaxError(err, data)
		}
		r := &yamlReader{}
		n := r.read(document.Content[0], 0)
		if r.err != nil {
			return nil, r.err
		}
		if n.Kind != Null {
			if documents = append(documents, n); len(documents) == 2 {
				break
			}
		}
	}
	return documents, nil
}

func countParts(data []byte) (n int) {
	for _, c := range []byte(parts) {
		n += bytes.Count(data, []byte{c})
	}
	return n
}

// syntaxError returns the parser's error with the line where the mistake is likely made. The parser gives up later: at
// the first line that cannot continue a quote, a bracket or a key. The text then names both lines.
func syntaxError(err error, data []byte) *SyntaxError {
	lines := bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")) + 1
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return &SyntaxError{What: err.Error()}
	}
	line, what := min(at.Mark.Line, lines), at.Message
	if at.ContextMsg != "" {
		what = at.ContextMsg + ": " + what
	}
	opened, root := before(data, at.Mark.Line)
	switch isScanned := strings.HasPrefix(at.ContextMsg, "while scanning "); {
	case !utf8.Valid(data):
		line, what = firstNonText(data), "the file is not UTF-8 text from here on"
	case isIndentedByTab(data, at.Mark.Line):
		what = "a tab indents the line, and YAML takes only spaces"
	case opened > 0 && opened < line && (!isScanned || isUnfinished(at)):
		if at.Mark.Line <= lines {
			what += fmt.Sprintf("; noticed in line %d", line)
		}
		line = opened
	default:
		if begin := cmp.Or(at.ContextMark.Line, root); begin > 0 && begin < line && !isScanned {
			what += fmt.Sprintf("; what it is part of begins in line %d", begin)
		}
	}
	return &SyntaxError{Line: line, What: what}
}

// isUnfinished tells whether a quote has no end, or a key no colon.
func isUnfinished(at *yaml.LoadError) bool {
	return at.ContextMsg == "while scanning a simple key" ||
		at.ContextMsg == "while scanning a quoted scalar" && strings.HasPrefix(at.Message, "found unexpected ")
}

// before reads what is before a line, counted from 1. It returns the line of the quote, bracket or key that is not
// finished there, else the line where the document's root begins; zero means there is none.
func before(data []byte, line int) (opened, root int) {
	rest := data
	for range line - 1 {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	file := yaml.NewDecoder(bytes.NewReader(data[:len(data)-len(rest)]))
	for range maxParts {
		var document yaml.Node
		err := file.Decode(&document)
		if at, ok := errors.AsType[*yaml.LoadError](err); ok &&
			(isUnfinished(at) || strings.HasPrefix(at.ContextMsg, "while parsing a flow ")) {
			return at.ContextMark.Line, 0
		}
		if err != nil {
			break
		}
		if root = document.Content[0].Line; document.Content[0].Kind == yaml.ScalarNode && root > 0 && root < line &&
			document.Content[0].Value != "" {
			opened = root // a key without its colon
		}
	}
	return opened, root
}

// firstNonText returns the line, counted from 1, that is not UTF-8.
func firstNonText(data []byte) int {
	line := 1
	for part := range bytes.Lines(data) {
		if !utf8.Valid(part) {
			return line
		}
		line++
	}
	return line
}

// isIndentedByTab tells whether a line, counted from 1, has a tab before its first word.
func isIndentedByTab(data []byte, line int) bool {
	for range line - 1 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.ContainsRune(indent, '\t')
}

// yamlReader makes the tree of a document. Aliases and merged mappings are in it as if they were written out.
type yamlReader struct {
	values int
	err    *SyntaxError
}

func (r *yamlReader) read(node *yaml.Node, depth int) *Node {
	out := &Node{Line: node.Line}
	if r.values++; r.err == nil && (depth > maxDepth || r.values > maxValues) {
		r.err = &SyntaxError{
			node.Line,
			fmt.Sprintf("values are nested more than %d deep, or more than %d with what aliases repeat", maxDepth, maxValues),
		}
	}
	if r.err != nil {
		return out
	}
	switch node.Kind {
	case yaml.AliasNode:
		out = r.read(node.Alias, depth+1)
		out.Line = node.Line
	case yaml.MappingNode:
		out.Kind = Mapping
		r.mapping(out, node, depth)
	case yaml.SequenceNode:
		out.Kind = List
		for _, item := range node.Content {
			out.Items = append(out.Items, r.read(item, depth+1))
		}
	default:
		out.scalar(node)
	}
	return out
}

func (n *Node) scalar(node *yaml.Node) {
	n.Text = node.Value
	switch node.ShortTag() {
	case "!!null":
		n.Text = ""
	case "!!str", "!!timestamp", "!!merge", "!!binary":
		n.Kind = Text
	case "!!bool":
		n.Kind = Bool
	case "!!int", "!!float":
		n.Kind = Number
		if node.Decode(&n.Number) != nil {
			n.Number = math.NaN()
		}
	default:
		n.Kind = Other
	}
}

// mapping reads the entries of a mapping, and then those that it merges by <<.
func (r *yamlReader) mapping(to *Node, node *yaml.Node, depth int) {
	first := map[string]int{} // the line of each key
	var merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		entry := Entry{Key: keyText(key), Line: key.Line, Value: r.read(value, depth+1)}
		entry.First, entry.Again = first[entry.Key]
		if !entry.Again {
			first[entry.Key] = entry.Line
		}
		to.Entries = append(to.Entries, entry)
	}
	for _, value := range merged {
		r.merge(to, r.read(value, depth+1), first)
	}
}

// keyText returns a key that is a word; another one has the text of no key that is known.
func keyText(key *yaml.Node) string {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode {
		return "? in line " + strconv.Itoa(key.Line)
	}
	return key.Value
}

// merge adds the entries of a mapping, or of a list of them, that to does not have.
func (r *yamlReader) merge(to, from *Node, has map[string]int) {
	for _, item := range from.Items {
		r.merge(to, item, has)
	}
	for _, entry := range from.Entries {
		if _, is := has[entry.Key]; !is {
			has[entry.Key] = entry.Line
			entry.Again = false
			to.Entries = append(to.Entries, entry)
		}
	}
}
