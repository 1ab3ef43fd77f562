package logtext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLastLine is how many bytes at the end of a setup's logs are searched for its last line.
const maxLastLine = 4 << 10

// LastLine returns the last line that is not blank. A line that is overwritten, as progress bars are, counts as it was
// written last.
func LastLine(logs string) string {
	logs = logs[max(0, len(logs)-maxLastLine):]
	logs = strings.TrimSpace(strings.ToValidUTF8(withoutEscapes(logs), ""))
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, logs[strings.LastIndexAny(logs, "\r\n")+1:])
}

// withoutEscapes returns a text without the colours and the cursor movements of a terminal: bars have both.
func withoutEscapes(text string) string {
	var plain strings.Builder
	for {
		before, sequence, found := strings.Cut(text, "\x1b[")
		plain.WriteString(before)
		if !found {
			return plain.String()
		}
		end := strings.IndexFunc(sequence, func(r rune) bool { return '@' <= r && r <= '~' })
		if end < 0 {
			return plain.String()
		}
		text = sequence[end+1:]
	}
}

// Percent returns the progress that a line shows: progress bars of tqdm and others have "45%|".
func Percent(line string) (percent int, ok bool) {
	for {
		before, after, found := strings.Cut(line, "%")
		if !found {
			return 0, false
		}
		line = after
		if mark, _ := utf8.DecodeRuneInString(strings.TrimPrefix(after, " ")); !strings.ContainsRune("|[▏▎▍▌▋▊▉█", mark) {
			continue
		}
		before = strings.TrimSuffix(before, " ")
		number := before[strings.LastIndexFunc(before, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })+1:]
		whole, _, _ := strings.Cut(number, ".")
		if n, err := strconv.Atoi(whole); err == nil {
			return min(n, 100), true
		}
	}
}
