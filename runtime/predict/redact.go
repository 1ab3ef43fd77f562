package predict

import "strings"

// RedactCredentials removes from a URL, or a text like one, what only its server may see: the user and password before
// an "@", and the query.
func RedactCredentials(text string) string {
	if query := strings.IndexByte(text, '?'); query >= 0 {
		end := ""
		if strings.HasSuffix(text, `"`) {
			end = `"`
		}
		text = text[:query] + "?…" + end
	}
	if begin := strings.Index(text, "//"); begin >= 0 {
		if at := strings.LastIndexByte(text, '@'); at > begin {
			text = text[:begin+2] + "…" + text[at:]
		}
	}
	return text
}
