package predict

import "strings"

// HideCredentials is text, which may be a URL or nearly one, without what a URL holds for its server alone: the
// user and password before an "@", and the query.
func HideCredentials(text string) string {
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
