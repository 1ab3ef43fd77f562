package cli

import (
	"strings"
	"unicode/utf8"
)

const (
	maxTextWidth   = 120 // longer lines are hard to read
	maxLabelWidth  = 32  // of a label beside its text; longer ones stand above it
	minBesideWidth = 72  // of a terminal: on narrower ones every text stands below its label
)

// helpRow is a command or a flag, and what the help says about it.
type helpRow struct{ label, text string }

// wrapText wraps the paragraphs of a text; indented lines, which are examples and lists, stay as they are. Width 0
// leaves the text alone.
func wrapText(text string, width int) string {
	if width == 0 {
		return text
	}
	var lines, paragraph []string
	end := func() {
		lines = append(lines, wrapWords(strings.Join(paragraph, " "), width)...)
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			end()
			lines = append(lines, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(lines, "\n")
}

// wrapWords breaks a text into lines; a word that is longer than a line has its own.
func wrapWords(text string, width int) (lines []string) {
	line, used := "", 0
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.HasSuffix(word, "default:") && i+1 < len(words) { // stays beside its value
			i++
			word += " " + words[i]
		}
		n := utf8.RuneCountInString(word)
		if line != "" && used+1+n <= width {
			line += " " + word
			used += 1 + n
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line, used = word, n
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// rowsText returns a table of rows in two columns, or on narrow terminals with the texts below the labels.
func rowsText(rows []helpRow, width int) string {
	column := 0
	for _, r := range rows {
		if len(r.label) <= maxLabelWidth || width == 0 {
			column = max(column, len(r.label))
		}
	}
	column += 2
	if width > 0 && width < minBesideWidth && column > 24 {
		column = 10
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.label)
		lines := []string{r.text}
		if width > 0 {
			lines = wrapWords(r.text, max(width-column, 20))
		}
		gap := column - len(r.label)
		if gap < 2 {
			b.WriteString("\n")
			gap = column
		}
		for _, line := range lines {
			b.WriteString(strings.Repeat(" ", gap) + line + "\n")
			gap = column
		}
	}
	return b.String()
}
