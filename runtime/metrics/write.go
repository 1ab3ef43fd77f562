package metrics

import (
	"strconv"
	"strings"
)

const (
	contentText = "text/plain; version=0.0.4; charset=utf-8"
	contentOpen = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// Write returns the page in the format that the Accept header prefers, and its content type.
func (s *Set) Write(accept string) (contentType string, body []byte) {
	return write(accept, append(s.Gather(), s.generationsOnPage()...))
}

func write(accept string, families []Family) (contentType string, body []byte) {
	p := &page{open: prefersOpen(accept)}
	contentType = contentText
	if p.open {
		contentType = contentOpen
	}
	for i := range families {
		p.family(&families[i])
	}
	p.end()
	return contentType, p.b
}

// prefersOpen reports whether an Accept header prefers OpenMetrics to the text format, the default. Versions 1.0.0 and
// 0.0.1, its draft, read the same.
func prefersOpen(accept string) bool {
	open, text := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(part, ";")
		q, version := 1.0, ""
		for parameter := range strings.SplitSeq(parameters, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			switch strings.ToLower(name) {
			case "q":
				q, _ = strconv.ParseFloat(value, 64) // 0 if it is not a number
			case "version":
				version = strings.Trim(value, `"`)
			}
		}
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "application/openmetrics-text":
			if version == "" || version == "1.0.0" || version == "0.0.1" {
				open = max(open, q)
			}
		case "text/plain", "text/*", "*/*":
			if version == "" || version == "0.0.4" {
				text = max(text, q)
			}
		}
	}
	return open > 0 && open >= text
}
