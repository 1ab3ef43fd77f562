package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// longestLine bounds the lines of a label: docker refuses a Dockerfile with a line of 64 KiB.
const longestLine = 8000

// labels writes those of Cog and of SageMaker, which platforms read, and those of the OCI.
func (p *Plan) labels(w *writer) {
	w.lines("", "LABEL run.cog.version="+doubleQuote(p.CogVersion)+" run.cog.has_init=\"true\"")
	w.lines("LABEL run.cog.config=" + quoteJSON(p.build.Config))
	if p.Schema != nil {
		w.lines("LABEL run.cog.openapi_schema=" + quoteJSON(p.Schema))
	}
	w.lines("# SageMaker may choose the port, by SAGEMAKER_BIND_TO_PORT, and load models, by SAGEMAKER_MULTI_MODEL.",
		"LABEL com.amazonaws.sagemaker.capabilities.accept-bind-to-port=true",
		"LABEL com.amazonaws.sagemaker.capabilities.multi-models=true")
	line := "LABEL org.opencontainers.image.title=" + literal(p.Title)
	for _, label := range [][2]string{
		{"description", p.build.Description},
		{"revision", p.Revision},
		{"source", p.Repository},
	} {
		if label[1] != "" {
			line += " \\\n    org.opencontainers.image." + label[0] + "=" + literal(label[1])
		}
	}
	w.lines("ARG BASE", line+" \\\n    org.opencontainers.image.base.name=\"${BASE}\"")
}

// doubleQuote returns a value in which variables are expanded.
func doubleQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", " ").Replace(text) + `"`
}

// literal returns a value in which nothing is expanded.
func literal(text string) string { return strings.ReplaceAll(doubleQuote(text), "$", `\$`) }

// quoteJSON returns a JSON text as one word, in single quotes, where nothing is expanded. Long ones have line breaks
// that the builder removes.
func quoteJSON(text json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil {
		compact.Reset()
		compact.Write(text)
	}
	quoted := strings.ReplaceAll(compact.String(), "'", `\u0027`)
	var out strings.Builder
	for len(quoted) > longestLine {
		end := strings.LastIndex(quoted[:longestLine], `,"`) + 1
		if end <= 0 {
			end = longestLine
			for quoted[end-1] == '\\' { // it would escape the one at the end of the line
				end--
			}
		}
		out.WriteString(quoted[:end] + "\\\n")
		quoted = quoted[end:]
		// A line of these would be a comment, or lose them. Outside of strings JSON has none.
		if c := quoted[0]; c == '#' || c == ' ' {
			quoted = fmt.Sprintf(`\u%04x`, c) + quoted[1:]
		}
	}
	return "'" + out.String() + quoted + "'"
}
