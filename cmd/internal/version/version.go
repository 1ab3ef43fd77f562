package version

import "strings"

// The version of Pinion, its commit and when that was made. build.sh stamps them.
var (
	Pinion = "dev"
	Commit = "unknown"
	Date   = "unknown"
)

// Docs is the address of the documents' site; "" means they have none that is known. build.sh stamps it from
// PINION_DOCS.
var Docs string

// DocsPage returns where a page of the documents is, such as "how-to/workers": at the site, or else in the repository.
func DocsPage(page string) string {
	if Docs == "" {
		return "docs/" + page + ".md"
	}
	return strings.TrimSuffix(Docs, "/") + "/" + page + "/"
}

// HelpPages returns DocsPage, or nil if the documents have no address that is known.
func HelpPages() func(page string) string {
	if Docs == "" {
		return nil
	}
	return DocsPage
}

// Cog is the version of the cog interface that the SDK implements.
const Cog = "0.23.1"

// Build returns the version with the commit: binaries of one build have the same.
func Build() string { return Pinion + " (commit " + Commit + ")" }
