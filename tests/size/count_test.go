package size

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// A count is how much code a file or a room has.
type count struct{ lines, statements int }

func (c *count) add(d count) {
	c.lines += d.lines
	c.statements += d.statements
}

// goCount counts a Go file: the lines on which a token lies, and the nodes that state something.
func goCount(path string, source []byte) (count, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return count{}, err
	}
	c := count{lines: goLines(source)}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.EmptyStmt, *ast.DeclStmt:
		case ast.Stmt, ast.Spec, *ast.FuncDecl, *ast.Field:
			c.statements++
		}
		return true
	})
	return c, nil
}

func goLines(source []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var tokens scanner.Scanner
	tokens.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, text := tokens.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(at)
		for i := range strings.Count(text, "\n") + 1 {
			lines[first+i] = true
		}
	}
}

// pythonCount counts a Python file: its logical lines, and the lines that they take. A line that is one string is a docstring.
func pythonCount(source string) count {
	code := pythonText.ReplaceAllStringFunc(source, func(found string) string {
		if found[0] == '#' {
			return ""
		}
		return `"` + strings.Repeat("\n\"", strings.Count(found, "\n"))
	})
	var c count
	depth, lines, bare := 0, 0, true
	for line := range strings.Lines(code) {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		lines++
		bare = bare && strings.Trim(text, `"rbfuRBFU`) == ""
		depth += strings.Count(text, "(") + strings.Count(text, "[") + strings.Count(text, "{") -
			strings.Count(text, ")") - strings.Count(text, "]") - strings.Count(text, "}")
		if depth > 0 || strings.HasSuffix(text, `\`) {
			continue
		}
		if !bare {
			c.add(count{lines, 1 + strings.Count(text, ";")})
		}
		lines, bare = 0, true
	}
	return c
}

// These find what is no code in C, JavaScript, CSS and shell, and the strings in which the same characters are text.
var (
	pythonText = regexp.MustCompile(`(?s)"""(?:\\.|.)*?"""|'''(?:\\.|.)*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*`)
	cText      = regexp.MustCompile(`(?s)"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*`)
	scripText  = regexp.MustCompile("(?s)\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`|/\\*.*?\\*/|//[^\\n]*")
	shellText  = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	htmlText   = regexp.MustCompile(`(?s)<!--.*?-->`)
	statement  = regexp.MustCompile(`;|\{|\b(?:case|default)\b`)
	command    = regexp.MustCompile(`[^\s;&|][^\n;&|]*`)
)

// textCount counts a file of another language. Its statements are what semicolons end and braces open; in a shell, commands.
func textCount(extension, source string) count {
	switch extension {
	case ".sh":
		code := shellText.ReplaceAllString(source, "")
		return count{codeLines(code), len(command.FindAllString(code, -1))}
	case ".html":
		code := htmlText.ReplaceAllString(source, "")
		return count{codeLines(code), strings.Count(code, "<")}
	case ".js":
		return bracedCount(scripText, source)
	}
	return bracedCount(cText, source)
}

func bracedCount(text *regexp.Regexp, source string) count {
	code := text.ReplaceAllStringFunc(source, func(found string) string {
		if strings.HasPrefix(found, "/") {
			return strings.Repeat("\n", strings.Count(found, "\n"))
		}
		return `"` + strings.Repeat("\n\"", strings.Count(found, "\n")) // a string's lines are code
	})
	return count{codeLines(code), len(statement.FindAllString(code, -1))}
}

func codeLines(code string) int {
	lines := 0
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	return lines
}
