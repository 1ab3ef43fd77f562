package terminal

import "strings"

// ShellWord returns a word as a shell reads it, in quotes if it needs them.
func ShellWord(word string) string {
	for _, r := range word {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r) {
			return Quote(word)
		}
	}
	return word
}

// Quote makes one word of a shell from any text.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
