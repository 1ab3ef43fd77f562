package files

import (
	"bytes"
	"strconv"
	"strings"

	"pinion/runtime/rawjson"
)

// mark is a mark in a chunk: its offsets, with its quotes, and its file.
type mark struct {
	start, end int
	file       string // "0/out.png"
}

// findMarks finds the marks that begin with prefix: whole strings that are values.
func findMarks(chunk, prefix []byte) (found []mark) {
	for from := 0; ; {
		at := bytes.Index(chunk[from:], prefix)
		if at < 0 {
			return found
		}
		start := from + at
		from = start + len(prefix)
		backslashes := 0
		for i := start; i > 0 && chunk[i-1] == '\\'; i-- {
			backslashes++
		}
		if backslashes%2 == 1 {
			continue // an escaped quote, inside another string
		}
		end := stringEnd(chunk, from)
		if end < 0 || isKey(chunk[end:]) {
			continue
		}
		found = append(found, mark{start, end, rawjson.KeyText(chunk[from : end-1])})
		from = end
	}
}

// stringEnd returns the index after the closing quote of the string that from is in, or -1.
func stringEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// isKey reports whether the bytes after a string make it an object's key.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// distinctNames returns the names of the files of marks. Of files with one name, all but the first get a number:
// "out-1.png".
func distinctNames(marks []mark) []string {
	names, taken := make([]string, len(marks)), make(map[string]bool, len(marks))
	for i, m := range marks {
		names[i] = m.file[strings.IndexByte(m.file, '/')+1:]
		taken[names[i]] = true
	}
	count := make(map[string]int, len(marks))
	for i, name := range names {
		if count[name]++; count[name] == 1 {
			continue
		}
		extension := extensionOf(name)
		stem := strings.TrimSuffix(name, extension)
		for taken[names[i]] {
			names[i] = stem + "-" + strconv.Itoa(count[name]-1) + extension
			if taken[names[i]] {
				count[name]++
			}
		}
		taken[names[i]] = true
	}
	return names
}
