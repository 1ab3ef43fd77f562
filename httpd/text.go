package httpd

// printable reports whether b is printable ASCII, as a header value requires.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
